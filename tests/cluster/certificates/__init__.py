"""Tests of certificates whose replicas and clients are threads of the test's process. They share a control plane."""
