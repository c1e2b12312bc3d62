// The etcd server, as its own main package runs it; a module of our own so that go.sum pins it.
package main

import (
	"os"

	"go.etcd.io/etcd/server/v3/etcdmain"
)

func main() {
	etcdmain.Main(os.Args)
}
