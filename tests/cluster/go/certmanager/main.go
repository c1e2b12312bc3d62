// cert-manager's controllers and its cainjector in one program, selected by the name of the executable.
// The modules of its own commands are not published; this stands in for their main packages and runs the same code
// below them: without ACME, Vault, Venafi and Ingress, and without leader election, for there is one of each here.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
)

func main() {
	name := filepath.Base(os.Args[0])
	flags := flag.NewFlagSet(name, flag.ExitOnError) // controller-runtime has put options of its own into flag's
	kubeconfig := flags.String("kubeconfig", "", "how to reach the API server")
	_ = flags.Parse(os.Args[1:]) // it exits when it cannot
	ctrl.SetLogger(klog.Background())
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()

	var err error
	switch name {
	case "controller":
		err = runControllers(ctx, *kubeconfig)
	case "cainjector":
		err = runInjector(ctx, *kubeconfig)
	default:
		err = fmt.Errorf("call this program by the name controller or cainjector, not %q", name)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
