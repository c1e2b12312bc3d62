// A typed admission webhook on controller-runtime that makes the edits of gpushare-webhook's defaults: what most teams
// would write. It has one check, that of the limit of replicas, and no others.
//
// Run: gowebhook CERTIFICATES HOST PORT, where CERTIFICATES is a folder with tls.crt and tls.key. With port 0 it takes a free
// one. It prints {"event": "ready", "port": ...} once it listens.
package main

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/runtime"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/webhook"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"
)

const (
	gpu           = corev1.ResourceName("nvidia.com/gpu")
	runtimeClass  = "nvidia"
	pipeDirectory = "CUDA_MPS_PIPE_DIRECTORY"
	pipe          = "/mps/nvidia.com/gpu/pipe"
	hostPipe      = "/run/nvidia/mps/nvidia.com/gpu/pipe"
	volume        = "gpushare-mps-nvidia-com-gpu"
	safeToEvict   = "cluster-autoscaler.kubernetes.io/safe-to-evict-local-volumes"
	injected      = "gpushare-webhook/injected"
)

type mutator struct{ decoder admission.Decoder }

func (m *mutator) Handle(_ context.Context, request admission.Request) admission.Response {
	pod := &corev1.Pod{}
	if err := m.decoder.Decode(request, pod); err != nil {
		return admission.Errored(http.StatusBadRequest, err)
	}
	asks, mounts := false, false
	for i := range pod.Spec.Containers {
		container := &pod.Spec.Containers[i]
		wanted, found := container.Resources.Limits[gpu]
		if !found || wanted.IsZero() {
			continue
		}
		if wanted.Cmp(resource.MustParse("1")) > 0 {
			return admission.Denied(fmt.Sprintf("container %q asks for %s of %q; the limit is 1", container.Name, wanted.String(), gpu))
		}
		asks = true
		mounts = inject(container) || mounts
	}
	if !asks {
		return admission.Allowed("")
	}
	complete(pod, mounts)
	changed, err := json.Marshal(pod)
	if err != nil {
		return admission.Errored(http.StatusInternalServerError, err)
	}
	return admission.PatchResponseFromRaw(request.Object.Raw, changed)
}

// inject adds the variable and the mount that a container with a replica needs, unless it sets the variable itself.
func inject(container *corev1.Container) bool {
	for _, variable := range container.Env {
		if variable.Name == pipeDirectory {
			return false
		}
	}
	container.Env = append(container.Env, corev1.EnvVar{Name: pipeDirectory, Value: pipe})
	container.VolumeMounts = append(container.VolumeMounts, corev1.VolumeMount{Name: volume, MountPath: pipe})
	return true
}

// complete adds what the pod itself needs: its class, its toleration, for mounts the volume, and the names of all that.
func complete(pod *corev1.Pod, mounts bool) {
	names := []string{}
	if pod.Annotations == nil {
		pod.Annotations = map[string]string{}
	}
	if pod.Spec.RuntimeClassName == nil {
		class := runtimeClass
		pod.Spec.RuntimeClassName = &class
		names = append(names, "runtimeClass")
	}
	if mounts {
		kind := corev1.HostPathDirectoryOrCreate
		source := corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: hostPipe, Type: &kind}}
		pod.Spec.Volumes = append(pod.Spec.Volumes, corev1.Volume{Name: volume, VolumeSource: source})
		pod.Annotations[safeToEvict] = volume
		names = append(names, "pipeDirectory", "pipeMount")
	}
	if !tolerates(pod) {
		toleration := corev1.Toleration{Key: string(gpu), Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoSchedule}
		pod.Spec.Tolerations = append(pod.Spec.Tolerations, toleration)
		names = append(names, "tolerations")
	}
	if len(names) > 0 {
		pod.Annotations[injected] = strings.Join(names, ",")
	}
}

func tolerates(pod *corev1.Pod) bool {
	for _, toleration := range pod.Spec.Tolerations {
		if toleration.Key == string(gpu) && toleration.Operator == corev1.TolerationOpExists {
			return true
		}
	}
	return false
}

func main() {
	if len(os.Args) != 4 {
		fmt.Fprintln(os.Stderr, "usage: gowebhook CERTIFICATES HOST PORT")
		os.Exit(2)
	}
	ctrl.SetLogger(logr.Discard())
	host := os.Args[2]
	port, err := strconv.Atoi(os.Args[3])
	check(err)
	if port == 0 { // controller-runtime takes 0 for its default port
		port = free(host)
	}
	scheme := runtime.NewScheme()
	check(corev1.AddToScheme(scheme))
	server := webhook.NewServer(webhook.Options{Host: host, Port: port, CertDir: os.Args[1]})
	server.Register("/mutate", &webhook.Admission{Handler: &mutator{decoder: admission.NewDecoder(scheme)}})
	go announce(net.JoinHostPort(host, strconv.Itoa(port)), port)
	check(server.Start(ctrl.SetupSignalHandler()))
}

// free finds a port that was free a moment ago.
func free(host string) int {
	listener, err := net.Listen("tcp", net.JoinHostPort(host, "0"))
	check(err)
	defer listener.Close()
	return listener.Addr().(*net.TCPAddr).Port
}

// announce says that the server is ready once it takes a connection.
func announce(address string, port int) {
	for {
		connection, err := tls.Dial("tcp", address, &tls.Config{InsecureSkipVerify: true}) // to itself
		if err == nil {
			connection.Close()
			fmt.Printf("{\"event\": \"ready\", \"port\": %d}\n", port)
			return
		}
		time.Sleep(2 * time.Millisecond)
	}
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "gowebhook:", err)
		os.Exit(1)
	}
}
