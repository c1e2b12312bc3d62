// Reads inputs the way kubectl does and prints what they are as JSON.
//
// On standard input: a JSON list of base64 texts. On standard output: a list with the objects, and the error if there is
// one, of each. The loop is that of StreamVisitor in k8s.io/cli-runtime, over the decoders of k8s.io/apimachinery.
package main

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"io"
	"os"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/yaml"
)

type answer struct {
	Objects []json.RawMessage `json:"objects"`
	Error   string            `json:"error,omitempty"`
}

func read(data []byte) (out answer) {
	out.Objects = []json.RawMessage{}
	decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(data), 4096)
	for {
		ext := runtime.RawExtension{}
		if err := decoder.Decode(&ext); err != nil {
			if err != io.EOF {
				out.Error = err.Error()
			}
			return out
		}
		raw := bytes.TrimSpace(ext.Raw)
		if len(raw) == 0 || bytes.Equal(raw, []byte("null")) {
			continue
		}
		object, err := runtime.Decode(unstructured.UnstructuredJSONScheme, raw)
		if err != nil {
			out.Error = err.Error()
			return out
		}
		if list, ok := object.(*unstructured.UnstructuredList); ok {
			for i := range list.Items {
				text, _ := json.Marshal(list.Items[i].Object)
				out.Objects = append(out.Objects, text)
			}
			continue
		}
		text, err := json.Marshal(object.(*unstructured.Unstructured).Object)
		if err != nil {
			out.Error = err.Error()
			return out
		}
		out.Objects = append(out.Objects, text)
	}
}

func main() {
	var inputs []string
	if err := json.NewDecoder(os.Stdin).Decode(&inputs); err != nil {
		panic(err)
	}
	answers := make([]answer, 0, len(inputs))
	for _, input := range inputs {
		data, err := base64.StdEncoding.DecodeString(input)
		if err != nil {
			panic(err)
		}
		answers = append(answers, read(data))
	}
	if err := json.NewEncoder(os.Stdout).Encode(answers); err != nil {
		panic(err)
	}
}
