// A load generator for one server on loopback: HTTP/1.1 over TLS 1.3 with keep-alive, by Go's client, as the API
// server calls it.
//
// Without -rate it is a closed loop: each connection sends its next request when it has its answer. With -rate it is an
// open loop: requests are planned at a fixed rate whatever the server does, and each latency counts from the planned
// time, so that a slow answer delays nothing but is charged to every request that waited for it (no coordinated
// omission). Percentiles are exact: every latency is kept, which is why the number of requests is bounded.
package main

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"net/netip"
	"os"
	"runtime"
	"time"
)

const (
	longest     = 120 * time.Second
	mostAtOnce  = 1024
	mostRecords = 4_000_000
)

type options struct {
	address     string
	path        string
	bodies      string
	ca          string
	connections int
	duration    time.Duration
	warmup      time.Duration
	rate        float64
	limit       int
}

func main() {
	var o options
	flag.StringVar(&o.address, "address", "", "`host:port` of the server, a loopback address")
	flag.StringVar(&o.path, "path", "/mutate", "path and query of every request")
	flag.StringVar(&o.bodies, "bodies", "", "`file` with one body a line; they are sent in turn")
	flag.StringVar(&o.ca, "ca", "", "`file` with the authority of the server's certificate, which has to name localhost")
	flag.IntVar(&o.connections, "connections", 1, "connections; in an open loop the most that are used")
	flag.DurationVar(&o.duration, "duration", 5*time.Second, "how long to measure, at most 2m")
	flag.DurationVar(&o.warmup, "warmup", 300*time.Millisecond, "how long to run before that")
	flag.Float64Var(&o.rate, "rate", 0, "planned requests per second; 0 is a closed loop")
	flag.IntVar(&o.limit, "limit", 1_000_000, "the most requests that are measured")
	flag.Parse()
	report, err := run(o)
	if err != nil {
		fmt.Fprintln(os.Stderr, "load:", err)
		os.Exit(1)
	}
	json.NewEncoder(os.Stdout).Encode(report)
}

func run(o options) (Report, error) {
	if err := o.check(); err != nil {
		return Report{}, err
	}
	trust, err := authority(o.ca)
	if err != nil {
		return Report{}, err
	}
	bodies, err := readBodies(o.bodies)
	if err != nil {
		return Report{}, err
	}
	target, err := open(o, &tls.Config{MinVersion: tls.VersionTLS13, RootCAs: trust, ServerName: "localhost"}, bodies)
	if err != nil {
		return Report{}, err
	}
	// The planner of an open loop waits in system calls; with one P the readers of answers would wait with it.
	runtime.GOMAXPROCS(4)
	if o.rate > 0 {
		return openLoop(target, o), nil
	}
	return closedLoop(target, o), nil
}

func (o options) check() error {
	address, err := netip.ParseAddrPort(o.address)
	switch {
	case err != nil:
		return fmt.Errorf("-address: %w", err)
	case !address.Addr().IsLoopback():
		return fmt.Errorf("-address: %s is no loopback address, and load goes nowhere else", address.Addr())
	case o.duration <= 0 || o.duration > longest || o.warmup < 0 || o.warmup > longest:
		return fmt.Errorf("-duration and -warmup: at most %s", longest)
	case o.connections < 1 || o.connections > mostAtOnce:
		return fmt.Errorf("-connections: from 1 to %d", mostAtOnce)
	case o.limit < 1 || o.limit > mostRecords:
		return fmt.Errorf("-limit: from 1 to %d", mostRecords)
	case o.rate < 0:
		return errors.New("-rate: not negative")
	}
	return nil
}

func authority(file string) (*x509.CertPool, error) {
	pem, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("-ca: %w", err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("-ca: %s holds no certificate", file)
	}
	return pool, nil
}
