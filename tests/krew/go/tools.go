//go:build tools

// Package krewtools pins krew, which go.mod requires, for `go build`.
package krewtools

import _ "sigs.k8s.io/krew/cmd/krew"
