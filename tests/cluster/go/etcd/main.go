// The etcd server, as its own main package runs it; in its own module so that go.sum pins it.
package main

import (
	"os"

	"go.etcd.io/etcd/server/v3/etcdmain"
)

func main() {
	etcdmain.Main(os.Args)
}
