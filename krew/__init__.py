"""The krew plugin `kubectl gpushare`: its manifest, and its archives of gpushare-check with all libraries."""
