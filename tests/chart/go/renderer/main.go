// Helm's engine. Reads {"chart": its folder, "values": YAML, "release": ..., "namespace": ..., "kubernetes": a version,
// "apis": [...]} and writes {"text": what `helm template` prints, "objects": the manifests, "notes": those that `helm
// install` prints}, or {"refused": the error}.
package main

import (
	"encoding/json"
	"fmt"
	"strings"

	"helm.sh/helm/v4/pkg/action"
	"helm.sh/helm/v4/pkg/chart/common"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	release "helm.sh/helm/v4/pkg/release/v1"
	"sigs.k8s.io/yaml"

	"charttools/service"
)

type request struct {
	Chart      string   `json:"chart"`
	Values     string   `json:"values"`
	Release    string   `json:"release"`
	Namespace  string   `json:"namespace"`
	Kubernetes string   `json:"kubernetes"`
	APIs       []string `json:"apis"`
}

type answer struct {
	Text    string            `json:"text"`
	Objects []json.RawMessage `json:"objects"`
	Notes   string            `json:"notes"`
	Refused string            `json:"refused"`
}

func main() {
	service.Serve(func(one request) answer {
		made, err := one.render()
		if err != nil {
			return answer{Refused: err.Error()}
		}
		return made
	})
}

// render does what the command `template` does (helm.sh/helm/v4/pkg/cmd/template.go).
func (r request) render() (answer, error) {
	install := action.NewInstall(action.NewConfiguration())
	install.DryRunStrategy = action.DryRunClient
	install.ReleaseName, install.Namespace, install.APIVersions = r.Release, r.Namespace, r.APIs
	kubernetes, err := common.ParseKubeVersion(r.Kubernetes)
	if err != nil {
		return answer{}, err
	}
	install.KubeVersion = kubernetes
	values, err := loader.LoadValues(strings.NewReader(r.Values))
	if err != nil {
		return answer{}, err
	}
	chart, err := loader.Load(r.Chart)
	if err != nil {
		return answer{}, err
	}
	installed, err := install.Run(chart, values)
	if err != nil {
		return answer{}, err
	}
	made := installed.(*release.Release)
	text := strings.TrimSpace(made.Manifest) + "\n"
	for _, hook := range made.Hooks {
		text += fmt.Sprintf("---\n# Source: %s\n%s\n", hook.Path, hook.Manifest)
	}
	objects, err := read(text)
	return answer{Text: text, Objects: objects, Notes: made.Info.Notes}, err
}

// read refuses a mapping that has a key twice, as Flux and others do (fluxcd/flux2#1556).
func read(text string) ([]json.RawMessage, error) {
	objects := []json.RawMessage{}
	for _, document := range strings.Split("\n"+text, "\n---\n") {
		object, err := yaml.YAMLToJSONStrict([]byte(document))
		if err != nil {
			return nil, err
		}
		if string(object) != "null" {
			objects = append(objects, object)
		}
	}
	return objects, nil
}
