//go:build tools

// Package tools names the program that is built from its module as it is, so that go.sum pins it.
package tools

import _ "github.com/prometheus/prometheus/cmd/promtool"
