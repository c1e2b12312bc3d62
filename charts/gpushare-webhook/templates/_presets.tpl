{{/* Written by `make charts` from the program's source: do not edit. */}}

{{/*
The kinds of each preset, in JSON. `path` leads to the pods of an object, as in `config.workloads.paths`. `holds` is
what stands there, or the parts of a pod that a controller assembles: their path from there, and their form.
*/}}
{{- define "gpushare-webhook.presets" -}}
{
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
          "v1beta1"
        ],
        "namespaced": true,
        "paths": [
          {
            "path": "spec.components[*].podTemplate",
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
      }
    ]
  }
}
{{- end -}}

{{/* The built-in kinds, which have entries of their own, as GROUP/KIND in JSON. */}}
{{- define "gpushare-webhook.builtInKinds" -}}
["/Pod", "/PodTemplate", "/ReplicationController", "apps/ReplicaSet", "apps/Deployment", "apps/StatefulSet", "apps/DaemonSet", "batch/Job", "batch/CronJob"]
{{- end -}}
