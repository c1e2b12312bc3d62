"""Kustomizations as kustomize builds them, without running a program: built objects whose values know their files.

What kustomize does is read from its source (kubernetes-sigs/kustomize, api/internal/target/kusttarget.go).
"""
