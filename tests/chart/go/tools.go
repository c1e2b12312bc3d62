//go:build tools

// Package tools names the programs that are built from modules as they are, so that go.sum pins them.
package tools

import _ "helm.sh/helm/v4/cmd/helm"
