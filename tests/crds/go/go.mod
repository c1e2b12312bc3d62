// The projects whose resource definitions the tests read. Nothing is built from them: `make crd-definitions` downloads
// each module alone, without what it requires, and go.sum holds the digest of each.
module tests/crds

go 1.26

require (
	github.com/argoproj/argo-rollouts v1.10.1
	github.com/argoproj/argo-workflows/v4 v4.0.2
	github.com/kserve/kserve v0.20.0
	github.com/kubeflow/kubeflow/components/notebook-controller v0.0.0-20220728153354-fc09bd1eefb8
	github.com/kubeflow/mpi-operator v0.8.0
	github.com/kubeflow/spark-operator/v2 v2.5.2
	github.com/kubeflow/trainer/v2 v2.3.0
	github.com/kubeflow/training-operator v1.9.3
	github.com/ray-project/kuberay/ray-operator v1.6.2
	github.com/tektoncd/pipeline v1.15.0
	knative.dev/serving v0.51.0
	sigs.k8s.io/jobset v0.12.0
	sigs.k8s.io/lws v0.9.0
	volcano.sh/volcano v1.15.0
)
