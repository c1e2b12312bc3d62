package main

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"strings"
	"time"
)

const (
	patience  = 10 * time.Second
	largest   = 64 << 20
	answerCap = 64 << 10
)

var allowed = []byte(`"allowed":true`)

// target is a server and what it is asked.
type target struct {
	address  string
	requests [][]byte
	tls      *tls.Config
}

// connection is one connection, which is made again when it broke.
type connection struct {
	target *target
	tls    *tls.Conn
	reader *bufio.Reader
	body   []byte
}

func (c *connection) open() error {
	dialer := &net.Dialer{Timeout: patience}
	made, err := tls.DialWithDialer(dialer, "tcp", c.target.address, c.target.tls)
	if err != nil {
		return err
	}
	c.tls, c.reader = made, bufio.NewReaderSize(made, answerCap)
	return nil
}

func (c *connection) close() {
	if c.tls != nil {
		c.tls.Close()
		c.tls = nil
	}
}

// ask sends a request and reads its answer: its status, and whether it allows.
func (c *connection) ask(request []byte) (status int, allows bool, err error) {
	if c.tls == nil {
		if err := c.open(); err != nil {
			return 0, false, err
		}
	}
	status, stays, err := c.exchange(request)
	if err != nil || !stays {
		c.close()
	}
	return status, bytes.Contains(c.body, allowed), err
}

func (c *connection) exchange(request []byte) (status int, stays bool, err error) {
	c.body = c.body[:0]
	if err := c.tls.SetDeadline(time.Now().Add(patience)); err != nil {
		return 0, false, err
	}
	if _, err := c.tls.Write(request); err != nil {
		return 0, false, err
	}
	line, err := c.reader.ReadString('\n')
	if err != nil {
		return 0, false, err
	}
	if len(line) < 12 || !strings.HasPrefix(line, "HTTP/1.") {
		return 0, false, fmt.Errorf("no answer of HTTP/1: %q", line)
	}
	if status, err = strconv.Atoi(line[9:12]); err != nil {
		return 0, false, err
	}
	length, chunked, stays, err := c.header()
	if err != nil {
		return 0, false, err
	}
	if chunked {
		err = c.chunks()
	} else {
		err = c.take(length)
	}
	return status, stays, err
}

func (c *connection) header() (length int, chunked, stays bool, err error) {
	length, stays = -1, true
	for {
		line, err := c.reader.ReadSlice('\n')
		if err != nil {
			return 0, false, false, err
		}
		name, value, _ := bytes.Cut(bytes.TrimRight(line, "\r\n"), []byte(":"))
		value = bytes.TrimSpace(value)
		switch {
		case len(name) == 0:
			if length < 0 && !chunked {
				return 0, false, false, errors.New("an answer without a length")
			}
			return length, chunked, stays, nil
		case bytes.EqualFold(name, []byte("Content-Length")):
			if length, err = strconv.Atoi(string(value)); err != nil {
				return 0, false, false, err
			}
		case bytes.EqualFold(name, []byte("Transfer-Encoding")):
			chunked = bytes.EqualFold(value, []byte("chunked"))
		case bytes.EqualFold(name, []byte("Connection")):
			stays = !bytes.EqualFold(value, []byte("close"))
		}
	}
}

func (c *connection) take(length int) error {
	if length < 0 || len(c.body)+length > largest {
		return fmt.Errorf("an answer of %d bytes", length)
	}
	start := len(c.body)
	if cap(c.body) < start+length {
		c.body = append(make([]byte, 0, 2*(start+length)), c.body...)
	}
	c.body = c.body[:start+length]
	_, err := io.ReadFull(c.reader, c.body[start:])
	return err
}

func (c *connection) chunks() error {
	for {
		line, err := c.reader.ReadString('\n')
		if err != nil {
			return err
		}
		size, err := strconv.ParseInt(strings.TrimSpace(line), 16, 32)
		if err != nil {
			return err
		}
		if err := c.take(int(size)); err != nil {
			return err
		}
		if _, err := c.reader.Discard(2); err != nil {
			return err
		}
		if size == 0 {
			return nil
		}
	}
}

// readRequests makes a whole request of each line of a file.
func readRequests(file, path string) ([][]byte, error) {
	content, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("-bodies: %w", err)
	}
	var requests [][]byte
	for body := range bytes.Lines(content) {
		if body = bytes.TrimRight(body, "\n"); len(body) == 0 {
			continue
		}
		head := fmt.Sprintf("POST %s HTTP/1.1\r\nHost: localhost\r\nUser-Agent: kube-apiserver-admission\r\n"+
			"Content-Length: %d\r\nAccept: application/json, */*\r\nContent-Type: application/json\r\n"+
			"Accept-Encoding: gzip\r\n\r\n", path, len(body))
		requests = append(requests, append([]byte(head), body...))
	}
	if len(requests) == 0 {
		return nil, fmt.Errorf("-bodies: %s holds no body", file)
	}
	return requests, nil
}
