{{/* Written by `make charts` from the program's source: do not edit. */}}

{{/*
The defaults of `config` in JSON. `key[]` holds the defaults of each element of the list `key`, `key{}` those of the
section `key` that is null by default.
*/}}
{{- define "gpushare-webhook.defaults" -}}
{
  "profile": "device-plugin",
  "mode": "enforce",
  "resources": [
    {
      "name": "nvidia.com/gpu",
      "kind": "shared",
      "renamed": false
    },
    {
      "name": "nvidia.com/gpu.shared",
      "kind": "shared",
      "renamed": true
    }
  ],
  "resources[]": {
    "kind": "shared",
    "renamed": false
  },
  "limits": {
    "perContainer": 1,
    "perPod": 1,
    "timeSlicing": {
      "perContainer": null
    },
    "mpsMayAcceptMore": false,
    "fromDevicePlugin": false
  },
  "denyInMutate": true,
  "severities": {},
  "namespaces": [],
  "namespaces[]": {
    "names": [],
    "selector": null,
    "selector{}": {
      "matchLabels": {}
    },
    "mode": null,
    "severities": {},
    "injections": {
      "mode": null
    }
  },
  "sharing": {
    "namespaces": null,
    "namespaces{}": {
      "matchLabels": {}
    }
  },
  "exempt": {
    "namespaces": [
      "kube-system",
      "kube-node-lease",
      "gpu-operator",
      "nvidia-gpu-operator",
      "nvidia-device-plugin"
    ],
    "label": null,
    "annotation": null
  },
  "suppress": {
    "comments": false
  },
  "injections": {
    "mode": null,
    "annotate": true,
    "runtimeClass": {
      "enabled": true,
      "name": "nvidia",
      "whenUnknown": "inject",
      "whenCdi": "skip",
      "sandboxes": [
        "gvisor",
        "runsc",
        "kata*"
      ]
    },
    "pipeDirectory": {
      "enabled": true,
      "containerRoot": "/mps",
      "perResource": true,
      "when": "could-land"
    },
    "pipeMount": {
      "enabled": true,
      "mpsRoot": "/run/nvidia/mps",
      "type": "DirectoryOrCreate",
      "readOnly": false,
      "safeToEvict": true
    },
    "tolerations": {
      "enabled": true,
      "add": [
        {
          "key": "nvidia.com/gpu",
          "operator": "Exists",
          "value": null,
          "effect": "NoSchedule"
        }
      ],
      "add[]": {
        "operator": "Exists",
        "value": null,
        "effect": "NoSchedule"
      },
      "resourceName": true,
      "fromNodes": []
    },
    "limits": {
      "enabled": true
    },
    "voidDevices": {
      "enabled": false,
      "pods": "gpu"
    },
    "steering": {
      "enabled": false
    }
  },
  "requests": {
    "annotations": [],
    "annotations[]": {
      "container": null
    },
    "fractions": false
  },
  "users": {
    "runAsUser": null,
    "hostIPC": false
  },
  "podSecurity": {
    "unlabelled": "privileged"
  },
  "placement": {
    "mpsLabels": {
      "nvidia.com/mps.capable": "true",
      "nvidia.com/gpu.sharing-strategy": "mps"
    },
    "timeSlicingLabels": {
      "nvidia.com/gpu.sharing-strategy": "time-slicing"
    },
    "nodeGroups": [],
    "nodeGroups[]": {
      "labels": {},
      "taints": [],
      "taints[]": {
        "value": "",
        "effect": "NoSchedule"
      },
      "resources": {}
    },
    "groupsAreComplete": false
  },
  "facts": {
    "nodes": false,
    "namespaces": false,
    "runtimeClasses": false,
    "deviceClasses": false,
    "devicePlugin": null,
    "devicePlugin{}": {
      "configMaps": [],
      "daemonSet": null,
      "version": null
    },
    "maxAge": "15m"
  },
  "workloads": {
    "presets": [
      "all"
    ],
    "paths": [],
    "paths[]": {
      "group": "",
      "holds": "template",
      "resource": null,
      "versions": [],
      "scope": "Namespaced"
    },
    "defaultQueue": null
  },
  "guard": {
    "enabled": false
  },
  "messageSuffix": null,
  "explainURL": null,
  "server": {
    "host": "0.0.0.0",
    "port": 10250,
    "healthPort": 8080,
    "bodyLimit": "28Mi",
    "bodyTimeout": "5s",
    "headerTimeout": "10s",
    "maxInFlight": 256,
    "maxConnections": 2048,
    "keepAlive": "110s",
    "shutdownDelay": "10s",
    "drainTimeout": "10s"
  },
  "tls": {
    "mode": "files",
    "minVersion": "1.3",
    "certFile": null,
    "keyFile": null,
    "clientCA": null,
    "clientSubjects": [],
    "caLifetime": "8760h",
    "leafLifetime": "168h",
    "settle": "1m",
    "extraHosts": []
  },
  "log": {
    "format": "json",
    "level": "info"
  }
}
{{- end -}}

{{/* The values of `config` that each profile sets, in JSON. */}}
{{- define "gpushare-webhook.profiles" -}}
{
  "device-plugin": {},
  "host-daemon": {
    "severities": {
      "GPS005": "off"
    },
    "injections": {
      "pipeDirectory": {
        "containerRoot": "/tmp/nvidia-mps",
        "perResource": false
      },
      "pipeMount": {
        "mpsRoot": "/tmp/nvidia-mps",
        "type": "Directory"
      }
    },
    "placement": {
      "mpsLabels": {}
    }
  },
  "gke": {
    "severities": {
      "GPS005": "off"
    },
    "limits": {
      "mpsMayAcceptMore": true,
      "timeSlicing": {
        "perContainer": 1
      }
    },
    "injections": {
      "runtimeClass": {
        "enabled": false
      },
      "pipeDirectory": {
        "enabled": false,
        "containerRoot": "/tmp/nvidia-mps",
        "perResource": false
      },
      "pipeMount": {
        "enabled": false,
        "mpsRoot": "/tmp/nvidia-mps"
      }
    },
    "users": {
      "hostIPC": "required"
    },
    "placement": {
      "mpsLabels": {
        "cloud.google.com/gke-gpu-sharing-strategy": "mps"
      },
      "timeSlicingLabels": {
        "cloud.google.com/gke-gpu-sharing-strategy": "time-sharing"
      }
    }
  },
  "openshift": {
    "injections": {
      "runtimeClass": {
        "enabled": false
      },
      "pipeMount": {
        "enabled": false
      }
    }
  },
  "kai": {
    "severities": {
      "GPS005": "off"
    },
    "resources": [
      {
        "name": "nvidia.com/gpu",
        "kind": "whole"
      }
    ],
    "injections": {
      "runtimeClass": {
        "enabled": false
      },
      "pipeDirectory": {
        "containerRoot": "/tmp/nvidia-mps",
        "perResource": false
      },
      "pipeMount": {
        "mpsRoot": "/tmp/nvidia-mps",
        "type": "DirectoryOrCreate"
      }
    },
    "placement": {
      "mpsLabels": {
        "nvidia.mps/enabled": "true"
      }
    },
    "requests": {
      "annotations": [
        {
          "annotation": "gpu-fraction",
          "container": "gpu-fraction-container-name"
        },
        {
          "annotation": "gpu-memory",
          "container": "gpu-fraction-container-name"
        }
      ]
    }
  },
  "nv-fractions": {
    "resources": [
      {
        "name": "nvidia.com/gpu",
        "kind": "whole"
      }
    ],
    "injections": {
      "runtimeClass": {
        "enabled": false
      },
      "pipeDirectory": {
        "enabled": false
      },
      "pipeMount": {
        "enabled": false
      }
    },
    "requests": {
      "annotations": [
        {
          "annotation": "gpu-fraction",
          "container": "gpu-fraction-container-name"
        },
        {
          "annotation": "gpu-memory",
          "container": "gpu-fraction-container-name"
        }
      ],
      "fractions": true
    }
  },
  "dra": {
    "resources": [
      {
        "name": "nvidia.com/gpu",
        "kind": "whole"
      }
    ],
    "injections": {
      "runtimeClass": {
        "enabled": false
      },
      "pipeDirectory": {
        "enabled": false
      },
      "pipeMount": {
        "enabled": false
      }
    }
  },
  "whole-cards": {
    "resources": [
      {
        "name": "nvidia.com/gpu",
        "kind": "whole"
      }
    ],
    "injections": {
      "pipeDirectory": {
        "enabled": false
      },
      "pipeMount": {
        "enabled": false
      }
    }
  },
  "none": {
    "injections": {
      "runtimeClass": {
        "enabled": false
      },
      "pipeDirectory": {
        "enabled": false
      },
      "pipeMount": {
        "enabled": false
      },
      "tolerations": {
        "enabled": false
      },
      "limits": {
        "enabled": false
      },
      "voidDevices": {
        "enabled": false
      },
      "steering": {
        "enabled": false
      }
    }
  }
}
{{- end -}}

{{/* The sections of `config` for which a text may stand: it is the only element of this list of the section. */}}
{{- define "gpushare-webhook.shorthands" -}}
{"devicePlugin": "configMaps"}
{{- end -}}

{{/*
Names outside nvidia.com that users write by mistake (GPS013), in JSON. The API server rejects those without a slash.
*/}}
{{- define "gpushare-webhook.wrongNames" -}}
["nvidia/gpu", "alpha.kubernetes.io/nvidia-gpu"]
{{- end -}}

{{/* The settings without which there is no guard, and the end of the name of its parameter, in JSON. */}}
{{- define "gpushare-webhook.guardTable" -}}
{
  "suffix": "-mode",
  "neverWith": [
    "limits.fromDevicePlugin",
    "limits.mpsMayAcceptMore",
    "exempt.label",
    "exempt.annotation"
  ],
  "askedWith": [
    "facts.nodes",
    "facts.devicePlugin",
    "facts.deviceClasses",
    "placement.nodeGroups"
  ]
}
{{- end -}}
