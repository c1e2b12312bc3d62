{{/* Written by `make charts` from the program's source: do not edit. */}}

{{/*
The kinds of each preset, in JSON. `path` leads to the pods of an object, as in `config.workloads.paths`. `holds` is
what stands there, or the parts of a pod that a controller assembles: their path from there, and their form.
*/}}
{{- define "gpushare-webhook.presets" -}}
{
  "aibrix": {
    "title": "AIBrix",
    "kinds": [
      {
        "group": "orchestration.aibrix.ai",
        "kind": "StormService",
        "resource": "stormservices",
        "versions": [
          "v1alpha1"
        ],
        "namespaced": true,
        "paths": [
          {
            "path": "spec.template.spec.roles[*].template",
            "holds": "template"
          }
        ]
      },
      {
        "group": "orchestration.aibrix.ai",
        "kind": "RayClusterFleet",
        "resource": "rayclusterfleets",
        "versions": [
          "v1alpha1"
        ],
        "namespaced": true,
        "paths": [
          {
            "path": "spec.template.spec.headGroupSpec.template",
            "holds": "template"
          },
          {
            "path": "spec.template.spec.workerGroupSpecs[*].template",
            "holds": "template"
          }
        ]
      }
    ]
  },
  "argo-rollouts": {
    "title": "Argo Rollouts",
    "kinds": [
      {
        "group": "argoproj.io",
        "kind": "Rollout",
        "resource": "rollouts",
        "versions": [
          "v1alpha1"
        ],
        "namespaced": true,
        "paths": [
          {
            "path": "spec.template",
            "holds": "template"
          }
        ]
      },
      {
        "group": "argoproj.io",
        "kind": "Experiment",
        "resource": "experiments",
        "versions": [
          "v1alpha1"
        ],
        "namespaced": true,
        "paths": [
          {
            "path": "spec.templates[*].template",
            "holds": "template"
          }
        ]
      },
      {
        "group": "argoproj.io",
        "kind": "AnalysisTemplate",
        "resource": "analysistemplates",
        "versions": [
          "v1alpha1"
        ],
        "namespaced": true,
        "paths": [
          {
            "path": "spec.metrics[*].provider.job.spec.template",
            "holds": "template"
          }
        ]
      },
      {
        "group": "argoproj.io",
        "kind": "ClusterAnalysisTemplate",
        "resource": "clusteranalysistemplates",
        "versions": [
          "v1alpha1"
        ],
        "namespaced": false,
        "paths": [
          {
            "path": "spec.metrics[*].provider.job.spec.template",
            "holds": "template"
          }
        ]
      }
    ]
  },
  "argo-workflows": {
    "title": "Argo Workflows",
    "kinds": [
      {
        "group": "argoproj.io",
        "kind": "Workflow",
        "resource": "workflows",
        "versions": [
          "v1alpha1"
        ],
        "namespaced": true,
        "paths": [
          {
            "path": "spec.templates[*]",
            "holds": [
              {
                "path": "initContainers[*]",
                "form": "container"
              },
              {
                "path": "container",
                "form": "container"
              },
              {
                "path": "script",
                "form": "container"
              },
              {
                "path": "containerSet.containers[*]",
                "form": "container"
              },
              {
                "path": "sidecars[*]",
                "form": "container"
              }
            ]
          },
          {
            "path": "spec.templates[*].dag.tasks[*].inline",
            "holds": [
              {
                "path": "initContainers[*]",
                "form": "container"
              },
              {
                "path": "container",
                "form": "container"
              },
              {
                "path": "script",
                "form": "container"
              },
              {
                "path": "containerSet.containers[*]",
                "form": "container"
              },
              {
                "path": "sidecars[*]",
                "form": "container"
              }
            ]
          },
          {
            "path": "spec.templates[*].steps[*][*].inline",
            "holds": [
              {
                "path": "initContainers[*]",
                "form": "container"
              },
              {
                "path": "container",
                "form": "container"
              },
              {
                "path": "script",
                "form": "container"
              },
              {
                "path": "containerSet.containers[*]",
                "form": "container"
              },
              {
                "path": "sidecars[*]",
                "form": "container"
              }
            ]
          },
          {
            "path": "spec.templateDefaults",
            "holds": [
              {
                "path": "initContainers[*]",
                "form": "container"
              },
              {
                "path": "container",
                "form": "container"
              },
              {
                "path": "script",
                "form": "container"
              },
              {
                "path": "containerSet.containers[*]",
                "form": "container"
              },
              {
                "path": "sidecars[*]",
                "form": "container"
              }
            ]
          }
        ]
      },
      {
        "group": "argoproj.io",
        "kind": "WorkflowTemplate",
        "resource": "workflowtemplates",
        "versions": [
          "v1alpha1"
        ],
        "namespaced": true,
        "paths": [
          {
            "path": "spec.templates[*]",
            "holds": [
              {
                "path": "initContainers[*]",
                "form": "container"
              },
              {
                "path": "container",
                "form": "container"
              },
              {
                "path": "script",
                "form": "container"
              },
              {
                "path": "containerSet.containers[*]",
                "form": "container"
              },
              {
                "path": "sidecars[*]",
                "form": "container"
              }
            ]
          },
          {
            "path": "spec.templates[*].dag.tasks[*].inline",
            "holds": [
              {
                "path": "initContainers[*]",
                "form": "container"
              },
              {
                "path": "container",
                "form": "container"
              },
              {
                "path": "script",
                "form": "container"
              },
              {
                "path": "containerSet.containers[*]",
                "form": "container"
              },
              {
                "path": "sidecars[*]",
                "form": "container"
              }
            ]
          },
          {
            "path": "spec.templates[*].steps[*][*].inline",
            "holds": [
              {
                "path": "initContainers[*]",
                "form": "container"
              },
              {
                "path": "container",
                "form": "container"
              },
              {
                "path": "script",
                "form": "container"
              },
              {
                "path": "containerSet.containers[*]",
                "form": "container"
              },
              {
                "path": "sidecars[*]",
                "form": "container"
              }
            ]
          },
          {
            "path": "spec.templateDefaults",
            "holds": [
              {
                "path": "initContainers[*]",
                "form": "container"
              },
              {
                "path": "container",
                "form": "container"
              },
              {
                "path": "script",
                "form": "container"
              },
              {
                "path": "containerSet.containers[*]",
                "form": "container"
              },
              {
                "path": "sidecars[*]",
                "form": "container"
              }
            ]
          }
        ]
      },
      {
        "group": "argoproj.io",
        "kind": "ClusterWorkflowTemplate",
        "resource": "clusterworkflowtemplates",
        "versions": [
          "v1alpha1"
        ],
        "namespaced": false,
        "paths": [
          {
            "path": "spec.templates[*]",
            "holds": [
              {
                "path": "initContainers[*]",
                "form": "container"
              },
              {
                "path": "container",
                "form": "container"
              },
              {
                "path": "script",
                "form": "container"
              },
              {
                "path": "containerSet.containers[*]",
                "form": "container"
              },
              {
                "path": "sidecars[*]",
                "form": "container"
              }
            ]
          },
          {
            "path": "spec.templates[*].dag.tasks[*].inline",
            "holds": [
              {
                "path": "initContainers[*]",
                "form": "container"
              },
              {
                "path": "container",
                "form": "container"
              },
              {
                "path": "script",
                "form": "container"
              },
              {
                "path": "containerSet.containers[*]",
                "form": "container"
              },
              {
                "path": "sidecars[*]",
                "form": "container"
              }
            ]
          },
          {
            "path": "spec.templates[*].steps[*][*].inline",
            "holds": [
              {
                "path": "initContainers[*]",
                "form": "container"
              },
              {
                "path": "container",
                "form": "container"
              },
              {
                "path": "script",
                "form": "container"
              },
              {
                "path": "containerSet.containers[*]",
                "form": "container"
              },
              {
                "path": "sidecars[*]",
                "form": "container"
              }
            ]
          },
          {
            "path": "spec.templateDefaults",
            "holds": [
              {
                "path": "initContainers[*]",
                "form": "container"
              },
              {
                "path": "container",
                "form": "container"
              },
              {
                "path": "script",
                "form": "container"
              },
              {
                "path": "containerSet.containers[*]",
                "form": "container"
              },
              {
                "path": "sidecars[*]",
                "form": "container"
              }
            ]
          }
        ]
      },
      {
        "group": "argoproj.io",
        "kind": "CronWorkflow",
        "resource": "cronworkflows",
        "versions": [
          "v1alpha1"
        ],
        "namespaced": true,
        "paths": [
          {
            "path": "spec.workflowSpec.templates[*]",
            "holds": [
              {
                "path": "initContainers[*]",
                "form": "container"
              },
              {
                "path": "container",
                "form": "container"
              },
              {
                "path": "script",
                "form": "container"
              },
              {
                "path": "containerSet.containers[*]",
                "form": "container"
              },
              {
                "path": "sidecars[*]",
                "form": "container"
              }
            ]
          },
          {
            "path": "spec.workflowSpec.templates[*].dag.tasks[*].inline",
            "holds": [
              {
                "path": "initContainers[*]",
                "form": "container"
              },
              {
                "path": "container",
                "form": "container"
              },
              {
                "path": "script",
                "form": "container"
              },
              {
                "path": "containerSet.containers[*]",
                "form": "container"
              },
              {
                "path": "sidecars[*]",
                "form": "container"
              }
            ]
          },
          {
            "path": "spec.workflowSpec.templates[*].steps[*][*].inline",
            "holds": [
              {
                "path": "initContainers[*]",
                "form": "container"
              },
              {
                "path": "container",
                "form": "container"
              },
              {
                "path": "script",
                "form": "container"
              },
              {
                "path": "containerSet.containers[*]",
                "form": "container"
              },
              {
                "path": "sidecars[*]",
                "form": "container"
              }
            ]
          },
          {
            "path": "spec.workflowSpec.templateDefaults",
            "holds": [
              {
                "path": "initContainers[*]",
                "form": "container"
              },
              {
                "path": "container",
                "form": "container"
              },
              {
                "path": "script",
                "form": "container"
              },
              {
                "path": "containerSet.containers[*]",
                "form": "container"
              },
              {
                "path": "sidecars[*]",
                "form": "container"
              }
            ]
          }
        ]
      }
    ]
  },
  "dynamo": {
    "title": "NVIDIA Dynamo",
    "kinds": [
      {
        "group": "nvidia.com",
        "kind": "DynamoGraphDeployment",
        "resource": "dynamographdeployments",
        "versions": [
          "v1beta1",
          "v1alpha1"
        ],
        "namespaced": true,
        "paths": [
          {
            "path": "spec.components[*].podTemplate",
            "holds": "template"
          },
          {
            "path": "spec.services.*",
            "holds": [
              {
                "path": "extraPodSpec.initContainers[*]",
                "form": "container"
              },
              {
                "path": "extraPodSpec.containers[*]",
                "form": "container"
              },
              {
                "path": "extraPodSpec.mainContainer",
                "form": "container"
              },
              {
                "path": "resources.limits",
                "form": "gpus"
              },
              {
                "path": "resources.requests",
                "form": "gpus"
              }
            ]
          }
        ]
      },
      {
        "group": "nvidia.com",
        "kind": "DynamoComponentDeployment",
        "resource": "dynamocomponentdeployments",
        "versions": [
          "v1beta1"
        ],
        "namespaced": true,
        "paths": [
          {
            "path": "spec.podTemplate",
            "holds": "template"
          }
        ]
      }
    ]
  },
  "grove": {
    "title": "Grove",
    "kinds": [
      {
        "group": "grove.io",
        "kind": "PodCliqueSet",
        "resource": "podcliquesets",
        "versions": [
          "v1alpha1"
        ],
        "namespaced": true,
        "paths": [
          {
            "path": "spec.template.cliques[*].spec.podSpec",
            "holds": "podSpec"
          }
        ]
      }
    ]
  },
  "hyperpod": {
    "title": "SageMaker HyperPod",
    "kinds": [
      {
        "group": "sagemaker.amazonaws.com",
        "kind": "HyperPodPyTorchJob",
        "resource": "hyperpodpytorchjobs",
        "versions": [
          "v1"
        ],
        "namespaced": true,
        "paths": [
          {
            "path": "spec.replicaSpecs[*].template",
            "holds": "template"
          }
        ]
      }
    ]
  },
  "jobset": {
    "title": "JobSet",
    "kinds": [
      {
        "group": "jobset.x-k8s.io",
        "kind": "JobSet",
        "resource": "jobsets",
        "versions": [
          "v1alpha2"
        ],
        "namespaced": true,
        "paths": [
          {
            "path": "spec.replicatedJobs[*].template.spec.template",
            "holds": "template"
          }
        ]
      }
    ]
  },
  "kaito": {
    "title": "KAITO",
    "kinds": [
      {
        "group": "kaito.sh",
        "kind": "Workspace",
        "resource": "workspaces",
        "versions": [
          "v1beta1",
          "v1alpha1"
        ],
        "namespaced": true,
        "paths": [
          {
            "path": "inference.template",
            "holds": "template"
          }
        ]
      },
      {
        "group": "kaito.sh",
        "kind": "InferenceSet",
        "resource": "inferencesets",
        "versions": [
          "v1beta1",
          "v1alpha1"
        ],
        "namespaced": true,
        "paths": [
          {
            "path": "spec.template.inference.template",
            "holds": "template"
          }
        ]
      }
    ]
  },
  "knative": {
    "title": "Knative Serving",
    "kinds": [
      {
        "group": "serving.knative.dev",
        "kind": "Service",
        "resource": "services",
        "versions": [
          "v1"
        ],
        "namespaced": true,
        "paths": [
          {
            "path": "spec.template",
            "holds": "template"
          }
        ]
      },
      {
        "group": "serving.knative.dev",
        "kind": "Configuration",
        "resource": "configurations",
        "versions": [
          "v1"
        ],
        "namespaced": true,
        "paths": [
          {
            "path": "spec.template",
            "holds": "template"
          }
        ]
      }
    ]
  },
  "kserve": {
    "title": "KServe",
    "kinds": [
      {
        "group": "serving.kserve.io",
        "kind": "InferenceService",
        "resource": "inferenceservices",
        "versions": [
          "v1beta1"
        ],
        "namespaced": true,
        "paths": [
          {
            "path": "spec.predictor",
            "holds": [
              {
                "path": "initContainers[*]",
                "form": "container"
              },
              {
                "path": "containers[*]",
                "form": "container"
              },
              {
                "path": "model",
                "form": "container"
              },
              {
                "path": "huggingface",
                "form": "container"
              },
              {
                "path": "lightgbm",
                "form": "container"
              },
              {
                "path": "onnx",
                "form": "container"
              },
              {
                "path": "paddle",
                "form": "container"
              },
              {
                "path": "pmml",
                "form": "container"
              },
              {
                "path": "pytorch",
                "form": "container"
              },
              {
                "path": "sklearn",
                "form": "container"
              },
              {
                "path": "tensorflow",
                "form": "container"
              },
              {
                "path": "triton",
                "form": "container"
              },
              {
                "path": "xgboost",
                "form": "container"
              }
            ]
          },
          {
            "path": "spec.predictor.workerSpec",
            "holds": "podSpec"
          },
          {
            "path": "spec.transformer",
            "holds": "podSpec"
          },
          {
            "path": "spec.explainer",
            "holds": [
              {
                "path": "initContainers[*]",
                "form": "container"
              },
              {
                "path": "containers[*]",
                "form": "container"
              },
              {
                "path": "art",
                "form": "container"
              }
            ]
          },
          {
            "path": "spec.canary[*].predictor",
            "holds": [
              {
                "path": "initContainers[*]",
                "form": "container"
              },
              {
                "path": "containers[*]",
                "form": "container"
              },
              {
                "path": "model",
                "form": "container"
              },
              {
                "path": "huggingface",
                "form": "container"
              },
              {
                "path": "lightgbm",
                "form": "container"
              },
              {
                "path": "onnx",
                "form": "container"
              },
              {
                "path": "paddle",
                "form": "container"
              },
              {
                "path": "pmml",
                "form": "container"
              },
              {
                "path": "pytorch",
                "form": "container"
              },
              {
                "path": "sklearn",
                "form": "container"
              },
              {
                "path": "tensorflow",
                "form": "container"
              },
              {
                "path": "triton",
                "form": "container"
              },
              {
                "path": "xgboost",
                "form": "container"
              }
            ]
          },
          {
            "path": "spec.canary[*].predictor.workerSpec",
            "holds": "podSpec"
          }
        ]
      },
      {
        "group": "serving.kserve.io",
        "kind": "ServingRuntime",
        "resource": "servingruntimes",
        "versions": [
          "v1alpha1"
        ],
        "namespaced": true,
        "paths": [
          {
            "path": "spec",
            "holds": "podSpec"
          },
          {
            "path": "spec.workerSpec",
            "holds": "podSpec"
          }
        ]
      },
      {
        "group": "serving.kserve.io",
        "kind": "ClusterServingRuntime",
        "resource": "clusterservingruntimes",
        "versions": [
          "v1alpha1"
        ],
        "namespaced": false,
        "paths": [
          {
            "path": "spec",
            "holds": "podSpec"
          },
          {
            "path": "spec.workerSpec",
            "holds": "podSpec"
          }
        ]
      },
      {
        "group": "serving.kserve.io",
        "kind": "LLMInferenceService",
        "resource": "llminferenceservices",
        "versions": [
          "v1alpha2",
          "v1alpha1"
        ],
        "namespaced": true,
        "paths": [
          {
            "path": "spec.template",
            "holds": "podSpec"
          },
          {
            "path": "spec.worker",
            "holds": "podSpec"
          },
          {
            "path": "spec.prefill.template",
            "holds": "podSpec"
          },
          {
            "path": "spec.prefill.worker",
            "holds": "podSpec"
          }
        ]
      },
      {
        "group": "serving.kserve.io",
        "kind": "LLMInferenceServiceConfig",
        "resource": "llminferenceserviceconfigs",
        "versions": [
          "v1alpha2",
          "v1alpha1"
        ],
        "namespaced": true,
        "paths": [
          {
            "path": "spec.template",
            "holds": "podSpec"
          },
          {
            "path": "spec.worker",
            "holds": "podSpec"
          },
          {
            "path": "spec.prefill.template",
            "holds": "podSpec"
          },
          {
            "path": "spec.prefill.worker",
            "holds": "podSpec"
          }
        ]
      }
    ]
  },
  "kuberay": {
    "title": "KubeRay",
    "kinds": [
      {
        "group": "ray.io",
        "kind": "RayCluster",
        "resource": "rayclusters",
        "versions": [
          "v1",
          "v1alpha1"
        ],
        "namespaced": true,
        "paths": [
          {
            "path": "spec.headGroupSpec.template",
            "holds": "template"
          },
          {
            "path": "spec.workerGroupSpecs[*].template",
            "holds": "template"
          }
        ]
      },
      {
        "group": "ray.io",
        "kind": "RayJob",
        "resource": "rayjobs",
        "versions": [
          "v1",
          "v1alpha1"
        ],
        "namespaced": true,
        "paths": [
          {
            "path": "spec.rayClusterSpec.headGroupSpec.template",
            "holds": "template"
          },
          {
            "path": "spec.rayClusterSpec.workerGroupSpecs[*].template",
            "holds": "template"
          },
          {
            "path": "spec.submitterPodTemplate",
            "holds": "template"
          }
        ]
      },
      {
        "group": "ray.io",
        "kind": "RayService",
        "resource": "rayservices",
        "versions": [
          "v1",
          "v1alpha1"
        ],
        "namespaced": true,
        "paths": [
          {
            "path": "spec.rayClusterConfig.headGroupSpec.template",
            "holds": "template"
          },
          {
            "path": "spec.rayClusterConfig.workerGroupSpecs[*].template",
            "holds": "template"
          }
        ]
      },
      {
        "group": "ray.io",
        "kind": "RayCronJob",
        "resource": "raycronjobs",
        "versions": [
          "v1"
        ],
        "namespaced": true,
        "paths": [
          {
            "path": "spec.jobTemplate.rayClusterSpec.headGroupSpec.template",
            "holds": "template"
          },
          {
            "path": "spec.jobTemplate.rayClusterSpec.workerGroupSpecs[*].template",
            "holds": "template"
          },
          {
            "path": "spec.jobTemplate.submitterPodTemplate",
            "holds": "template"
          }
        ]
      }
    ]
  },
  "leaderworkerset": {
    "title": "LeaderWorkerSet",
    "kinds": [
      {
        "group": "leaderworkerset.x-k8s.io",
        "kind": "LeaderWorkerSet",
        "resource": "leaderworkersets",
        "versions": [
          "v1"
        ],
        "namespaced": true,
        "paths": [
          {
            "path": "spec.leaderWorkerTemplate.leaderTemplate",
            "holds": "template"
          },
          {
            "path": "spec.leaderWorkerTemplate.workerTemplate",
            "holds": "template"
          }
        ]
      },
      {
        "group": "disaggregatedset.x-k8s.io",
        "kind": "DisaggregatedSet",
        "resource": "disaggregatedsets",
        "versions": [
          "v1"
        ],
        "namespaced": true,
        "paths": [
          {
            "path": "spec.roles[*].spec.leaderWorkerTemplate.leaderTemplate",
            "holds": "template"
          },
          {
            "path": "spec.roles[*].spec.leaderWorkerTemplate.workerTemplate",
            "holds": "template"
          }
        ]
      }
    ]
  },
  "llmaz": {
    "title": "llmaz",
    "kinds": [
      {
        "group": "llmaz.io",
        "kind": "OpenModel",
        "resource": "openmodels",
        "versions": [
          "v1alpha1"
        ],
        "namespaced": false,
        "paths": [
          {
            "path": "spec.inferenceConfig.flavors[*]",
            "holds": [
              {
                "path": "",
                "form": "resources"
              }
            ]
          }
        ]
      },
      {
        "group": "inference.llmaz.io",
        "kind": "Playground",
        "resource": "playgrounds",
        "versions": [
          "v1alpha1"
        ],
        "namespaced": true,
        "paths": [
          {
            "path": "spec.backendRuntimeConfig.resources",
            "holds": [
              {
                "path": "",
                "form": "resources"
              }
            ]
          }
        ]
      },
      {
        "group": "inference.llmaz.io",
        "kind": "BackendRuntime",
        "resource": "backendruntimes",
        "versions": [
          "v1alpha1"
        ],
        "namespaced": false,
        "paths": [
          {
            "path": "spec.recommendedConfigs[*].resources",
            "holds": [
              {
                "path": "",
                "form": "resources"
              }
            ]
          }
        ]
      },
      {
        "group": "inference.llmaz.io",
        "kind": "Service",
        "resource": "services",
        "versions": [
          "v1alpha1"
        ],
        "namespaced": true,
        "paths": [
          {
            "path": "spec.workloadTemplate.leaderTemplate",
            "holds": "template"
          },
          {
            "path": "spec.workloadTemplate.workerTemplate",
            "holds": "template"
          }
        ]
      }
    ]
  },
  "nim": {
    "title": "NVIDIA NIM Operator",
    "kinds": [
      {
        "group": "apps.nvidia.com",
        "kind": "NIMService",
        "resource": "nimservices",
        "versions": [
          "v1alpha1"
        ],
        "namespaced": true,
        "paths": [
          {
            "path": "spec",
            "holds": [
              {
                "path": "",
                "form": "container"
              }
            ]
          }
        ]
      },
      {
        "group": "apps.nvidia.com",
        "kind": "NIMPipeline",
        "resource": "nimpipelines",
        "versions": [
          "v1alpha1"
        ],
        "namespaced": true,
        "paths": [
          {
            "path": "spec.services[*].spec",
            "holds": [
              {
                "path": "",
                "form": "container"
              }
            ]
          }
        ]
      },
      {
        "group": "apps.nvidia.com",
        "kind": "NIMBuild",
        "resource": "nimbuilds",
        "versions": [
          "v1alpha1"
        ],
        "namespaced": true,
        "paths": [
          {
            "path": "spec",
            "holds": [
              {
                "path": "",
                "form": "container"
              }
            ]
          }
        ]
      }
    ]
  },
  "notebooks": {
    "title": "Kubeflow Notebooks",
    "kinds": [
      {
        "group": "kubeflow.org",
        "kind": "Notebook",
        "resource": "notebooks",
        "versions": [
          "v1",
          "v1beta1",
          "v1alpha1"
        ],
        "namespaced": true,
        "paths": [
          {
            "path": "spec.template.spec",
            "holds": "podSpec"
          }
        ]
      }
    ]
  },
  "spark": {
    "title": "Kubeflow Spark Operator",
    "kinds": [
      {
        "group": "sparkoperator.k8s.io",
        "kind": "SparkApplication",
        "resource": "sparkapplications",
        "versions": [
          "v1beta2"
        ],
        "namespaced": true,
        "paths": [
          {
            "path": "spec.driver",
            "holds": [
              {
                "path": "initContainers[*]",
                "form": "container"
              },
              {
                "path": "",
                "form": "spark"
              },
              {
                "path": "sidecars[*]",
                "form": "container"
              }
            ]
          },
          {
            "path": "spec.driver.template",
            "holds": "template"
          },
          {
            "path": "spec.executor",
            "holds": [
              {
                "path": "initContainers[*]",
                "form": "container"
              },
              {
                "path": "",
                "form": "spark"
              },
              {
                "path": "sidecars[*]",
                "form": "container"
              }
            ]
          },
          {
            "path": "spec.executor.template",
            "holds": "template"
          }
        ]
      },
      {
        "group": "sparkoperator.k8s.io",
        "kind": "ScheduledSparkApplication",
        "resource": "scheduledsparkapplications",
        "versions": [
          "v1beta2"
        ],
        "namespaced": true,
        "paths": [
          {
            "path": "spec.template.driver",
            "holds": [
              {
                "path": "initContainers[*]",
                "form": "container"
              },
              {
                "path": "",
                "form": "spark"
              },
              {
                "path": "sidecars[*]",
                "form": "container"
              }
            ]
          },
          {
            "path": "spec.template.driver.template",
            "holds": "template"
          },
          {
            "path": "spec.template.executor",
            "holds": [
              {
                "path": "initContainers[*]",
                "form": "container"
              },
              {
                "path": "",
                "form": "spark"
              },
              {
                "path": "sidecars[*]",
                "form": "container"
              }
            ]
          },
          {
            "path": "spec.template.executor.template",
            "holds": "template"
          }
        ]
      },
      {
        "group": "sparkoperator.k8s.io",
        "kind": "SparkConnect",
        "resource": "sparkconnects",
        "versions": [
          "v1alpha1"
        ],
        "namespaced": true,
        "paths": [
          {
            "path": "spec.server.template",
            "holds": "template"
          },
          {
            "path": "spec.executor.template",
            "holds": "template"
          }
        ]
      }
    ]
  },
  "tekton": {
    "title": "Tekton Pipelines",
    "kinds": [
      {
        "group": "tekton.dev",
        "kind": "Task",
        "resource": "tasks",
        "versions": [
          "v1",
          "v1beta1"
        ],
        "namespaced": true,
        "paths": [
          {
            "path": "spec",
            "holds": [
              {
                "path": "steps[*]",
                "form": "step"
              },
              {
                "path": "sidecars[*]",
                "form": "step"
              },
              {
                "path": "stepTemplate",
                "form": "step"
              }
            ]
          }
        ]
      },
      {
        "group": "tekton.dev",
        "kind": "ClusterTask",
        "resource": "clustertasks",
        "versions": [
          "v1beta1"
        ],
        "namespaced": false,
        "paths": [
          {
            "path": "spec",
            "holds": [
              {
                "path": "steps[*]",
                "form": "step"
              },
              {
                "path": "sidecars[*]",
                "form": "step"
              },
              {
                "path": "stepTemplate",
                "form": "step"
              }
            ]
          }
        ]
      },
      {
        "group": "tekton.dev",
        "kind": "TaskRun",
        "resource": "taskruns",
        "versions": [
          "v1",
          "v1beta1"
        ],
        "namespaced": true,
        "paths": [
          {
            "path": "spec.taskSpec",
            "holds": [
              {
                "path": "steps[*]",
                "form": "step"
              },
              {
                "path": "sidecars[*]",
                "form": "step"
              },
              {
                "path": "stepTemplate",
                "form": "step"
              }
            ]
          },
          {
            "path": "spec",
            "holds": [
              {
                "path": "computeResources",
                "form": "resources"
              },
              {
                "path": "stepSpecs[*]",
                "form": "step"
              },
              {
                "path": "sidecarSpecs[*]",
                "form": "step"
              },
              {
                "path": "stepOverrides[*]",
                "form": "container"
              },
              {
                "path": "sidecarOverrides[*]",
                "form": "container"
              }
            ]
          }
        ]
      },
      {
        "group": "tekton.dev",
        "kind": "Pipeline",
        "resource": "pipelines",
        "versions": [
          "v1",
          "v1beta1"
        ],
        "namespaced": true,
        "paths": [
          {
            "path": "spec.tasks[*].taskSpec",
            "holds": [
              {
                "path": "steps[*]",
                "form": "step"
              },
              {
                "path": "sidecars[*]",
                "form": "step"
              },
              {
                "path": "stepTemplate",
                "form": "step"
              }
            ]
          },
          {
            "path": "spec.finally[*].taskSpec",
            "holds": [
              {
                "path": "steps[*]",
                "form": "step"
              },
              {
                "path": "sidecars[*]",
                "form": "step"
              },
              {
                "path": "stepTemplate",
                "form": "step"
              }
            ]
          }
        ]
      },
      {
        "group": "tekton.dev",
        "kind": "PipelineRun",
        "resource": "pipelineruns",
        "versions": [
          "v1",
          "v1beta1"
        ],
        "namespaced": true,
        "paths": [
          {
            "path": "spec.pipelineSpec.tasks[*].taskSpec",
            "holds": [
              {
                "path": "steps[*]",
                "form": "step"
              },
              {
                "path": "sidecars[*]",
                "form": "step"
              },
              {
                "path": "stepTemplate",
                "form": "step"
              }
            ]
          },
          {
            "path": "spec.pipelineSpec.finally[*].taskSpec",
            "holds": [
              {
                "path": "steps[*]",
                "form": "step"
              },
              {
                "path": "sidecars[*]",
                "form": "step"
              },
              {
                "path": "stepTemplate",
                "form": "step"
              }
            ]
          },
          {
            "path": "spec.taskRunSpecs[*]",
            "holds": [
              {
                "path": "computeResources",
                "form": "resources"
              },
              {
                "path": "stepSpecs[*]",
                "form": "step"
              },
              {
                "path": "sidecarSpecs[*]",
                "form": "step"
              },
              {
                "path": "stepOverrides[*]",
                "form": "container"
              },
              {
                "path": "sidecarOverrides[*]",
                "form": "container"
              }
            ]
          }
        ]
      }
    ]
  },
  "trainer": {
    "title": "Kubeflow Trainer",
    "kinds": [
      {
        "group": "trainer.kubeflow.org",
        "kind": "TrainJob",
        "resource": "trainjobs",
        "versions": [
          "v1alpha1"
        ],
        "namespaced": true,
        "paths": [
          {
            "path": "spec.trainer",
            "holds": [
              {
                "path": "",
                "form": "trainer"
              }
            ]
          }
        ]
      },
      {
        "group": "trainer.kubeflow.org",
        "kind": "TrainingRuntime",
        "resource": "trainingruntimes",
        "versions": [
          "v1alpha1"
        ],
        "namespaced": true,
        "paths": [
          {
            "path": "spec.template.spec.replicatedJobs[*].template.spec.template",
            "holds": "template"
          }
        ]
      },
      {
        "group": "trainer.kubeflow.org",
        "kind": "ClusterTrainingRuntime",
        "resource": "clustertrainingruntimes",
        "versions": [
          "v1alpha1"
        ],
        "namespaced": false,
        "paths": [
          {
            "path": "spec.template.spec.replicatedJobs[*].template.spec.template",
            "holds": "template"
          }
        ]
      }
    ]
  },
  "training-operator": {
    "title": "Kubeflow Training Operator",
    "kinds": [
      {
        "group": "kubeflow.org",
        "kind": "PyTorchJob",
        "resource": "pytorchjobs",
        "versions": [
          "v1"
        ],
        "namespaced": true,
        "paths": [
          {
            "path": "spec.pytorchReplicaSpecs.*.template",
            "holds": "template"
          }
        ]
      },
      {
        "group": "kubeflow.org",
        "kind": "TFJob",
        "resource": "tfjobs",
        "versions": [
          "v1"
        ],
        "namespaced": true,
        "paths": [
          {
            "path": "spec.tfReplicaSpecs.*.template",
            "holds": "template"
          }
        ]
      },
      {
        "group": "kubeflow.org",
        "kind": "MPIJob",
        "resource": "mpijobs",
        "versions": [
          "v2beta1",
          "v1"
        ],
        "namespaced": true,
        "paths": [
          {
            "path": "spec.mpiReplicaSpecs.*.template",
            "holds": "template"
          }
        ]
      },
      {
        "group": "kubeflow.org",
        "kind": "XGBoostJob",
        "resource": "xgboostjobs",
        "versions": [
          "v1"
        ],
        "namespaced": true,
        "paths": [
          {
            "path": "spec.xgbReplicaSpecs.*.template",
            "holds": "template"
          }
        ]
      },
      {
        "group": "kubeflow.org",
        "kind": "PaddleJob",
        "resource": "paddlejobs",
        "versions": [
          "v1"
        ],
        "namespaced": true,
        "paths": [
          {
            "path": "spec.paddleReplicaSpecs.*.template",
            "holds": "template"
          }
        ]
      },
      {
        "group": "kubeflow.org",
        "kind": "JAXJob",
        "resource": "jaxjobs",
        "versions": [
          "v1"
        ],
        "namespaced": true,
        "paths": [
          {
            "path": "spec.jaxReplicaSpecs.*.template",
            "holds": "template"
          }
        ]
      }
    ]
  },
  "volcano": {
    "title": "Volcano",
    "kinds": [
      {
        "group": "batch.volcano.sh",
        "kind": "Job",
        "resource": "jobs",
        "versions": [
          "v1alpha1"
        ],
        "namespaced": true,
        "paths": [
          {
            "path": "spec.tasks[*].template",
            "holds": "template"
          }
        ]
      },
      {
        "group": "batch.volcano.sh",
        "kind": "CronJob",
        "resource": "cronjobs",
        "versions": [
          "v1alpha1"
        ],
        "namespaced": true,
        "paths": [
          {
            "path": "spec.jobTemplate.spec.tasks[*].template",
            "holds": "template"
          }
        ]
      },
      {
        "group": "flow.volcano.sh",
        "kind": "JobTemplate",
        "resource": "jobtemplates",
        "versions": [
          "v1alpha1"
        ],
        "namespaced": true,
        "paths": [
          {
            "path": "spec.tasks[*].template",
            "holds": "template"
          }
        ]
      },
      {
        "group": "flow.volcano.sh",
        "kind": "JobFlow",
        "resource": "jobflows",
        "versions": [
          "v1alpha1"
        ],
        "namespaced": true,
        "paths": [
          {
            "path": "spec.flows[*].patch.jobSpec.tasks[*].template",
            "holds": "template"
          }
        ]
      }
    ]
  }
}
{{- end -}}

{{/* The built-in kinds, which have entries of their own, as GROUP/KIND in JSON. */}}
{{- define "gpushare-webhook.builtInKinds" -}}
["/Pod", "/PodTemplate", "/ReplicationController", "apps/ReplicaSet", "apps/Deployment", "apps/StatefulSet", "apps/DaemonSet", "batch/Job", "batch/CronJob"]
{{- end -}}
