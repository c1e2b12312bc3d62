"""The names of the profiles, which the command line offers without loading the settings."""

from __future__ import annotations

from typing import Literal

Profile = Literal["device-plugin", "host-daemon", "gke", "openshift", "kai", "dra", "none"]
