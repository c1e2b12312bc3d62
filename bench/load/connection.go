package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"time"
)

const (
	patience = 10 * time.Second
	largest  = 64 << 20
)

var allowed = []byte(`"allowed":true`)

// target is a server and what it is asked.
type target struct {
	url    string
	bodies [][]byte
	client *http.Client
}

// open makes all connections at once, so that no measured request waits for a handshake. A broken one is made again.
func open(o options, trust *tls.Config, bodies [][]byte) (*target, error) {
	dialer := &net.Dialer{Timeout: patience}
	opened := make(chan net.Conn, o.connections)
	for range o.connections {
		one, err := tls.DialWithDialer(dialer, "tcp", o.address, trust)
		if err != nil {
			return nil, err
		}
		opened <- one
	}
	dial := func(context.Context, string, string) (net.Conn, error) {
		select {
		case one := <-opened:
			return one, nil
		default:
			return tls.DialWithDialer(dialer, "tcp", o.address, trust)
		}
	}
	transport := &http.Transport{
		DialTLSContext: dial, MaxConnsPerHost: o.connections, MaxIdleConnsPerHost: o.connections,
	}
	client := &http.Client{Transport: transport, Timeout: patience}
	return &target{url: "https://" + o.address + o.path, bodies: bodies, client: client}, nil
}

// ask sends the body with a number, and reads the answer: its status, and whether it allows.
func (t *target) ask(number int) (status int, allows bool, err error) {
	body := t.bodies[number%len(t.bodies)]
	request, err := http.NewRequest(http.MethodPost, t.url, bytes.NewReader(body))
	if err != nil {
		return 0, false, err
	}
	request.Host = "localhost"
	request.Header.Set("User-Agent", "kube-apiserver-admission")
	request.Header.Set("Accept", "application/json, */*")
	request.Header.Set("Content-Type", "application/json")
	answer, err := t.client.Do(request)
	if err != nil {
		return 0, false, err
	}
	defer answer.Body.Close()
	content, err := io.ReadAll(io.LimitReader(answer.Body, largest))
	return answer.StatusCode, bytes.Contains(content, allowed), err
}

// readBodies reads a file with one body a line.
func readBodies(file string) ([][]byte, error) {
	content, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("-bodies: %w", err)
	}
	bodies := bytes.Split(bytes.TrimSpace(content), []byte("\n"))
	if len(bodies[0]) == 0 {
		return nil, fmt.Errorf("-bodies: %s holds no body", file)
	}
	return bodies, nil
}
