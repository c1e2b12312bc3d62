// Records how the API server reads quantities: `go run . < cases.txt > ../quantities.json`.
//
// Each line of the input is a JSON text, as it stands in an object that the API server decodes. The output has for each
// the exact value, `unscaled` times ten to the power of minus `scale`, or the error. Left out of the cases are exponents
// near minus two to the power of 31, at which the API server's own arithmetic does not come to an end.
package main

import (
	"bufio"
	"encoding/json"
	"os"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
	utiljson "sigs.k8s.io/json"
)

type answer struct {
	JSON     string `json:"json"`
	Unscaled string `json:"unscaled,omitempty"`
	Scale    int64  `json:"scale"`
	Error    string `json:"error,omitempty"`
}

func read(text string) answer {
	out := answer{JSON: text}
	var limits map[string]resource.Quantity
	if err := utiljson.UnmarshalCaseSensitivePreserveInts([]byte(`{"x":`+text+`}`), &limits); err != nil {
		out.Error = err.Error()
		return out
	}
	quantity := limits["x"]
	value := quantity.AsDec()
	out.Unscaled, out.Scale = value.UnscaledBig().String(), int64(value.Scale())
	return out
}

func main() {
	separator := "[\n"
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		os.Stdout.WriteString(separator + encoded(read(lines.Text())))
		separator = ",\n"
	}
	if err := lines.Err(); err != nil {
		panic(err)
	}
	os.Stdout.WriteString("\n]\n")
}

func encoded(one answer) string {
	var text strings.Builder
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(one); err != nil {
		panic(err)
	}
	return strings.TrimSpace(text.String())
}
