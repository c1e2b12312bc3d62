// What the API server's own code makes of a ValidatingAdmissionPolicy. Reads [{"policy": …, "params": an object or null,
// "requests": [an AdmissionRequest, …]}, …] and writes, for each request of each group, its object as the API server sends it
// to webhooks, the messages of the validations that it fails, the error of an expression, "" if none fails, and what the
// expressions cost without the match conditions. null stands for a request whose objects the API server could not read.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"os"

	admissionv1 "k8s.io/api/admission/v1"
	registrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/version"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/admission/plugin/cel"
	"k8s.io/apiserver/pkg/admission/plugin/policy/validating"
	"k8s.io/apiserver/pkg/admission/plugin/webhook/matchconditions"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"k8s.io/apiserver/pkg/cel/environment"

	"charttools/requests"
)

type group struct {
	Policy   registrationv1.ValidatingAdmissionPolicy `json:"policy"`
	Params   *unstructured.Unstructured               `json:"params"`
	Requests []admissionv1.AdmissionRequest           `json:"requests"`
}

type answer struct {
	Object   map[string]any `json:"object"`
	Messages []string       `json:"messages"`
	Error    string         `json:"error"`
	Cost     int64          `json:"cost"`
}

func main() {
	var groups []group
	if err := json.NewDecoder(os.Stdin).Decode(&groups); err != nil {
		log.Fatal(err)
	}
	answers := make([][]*answer, len(groups))
	for index, one := range groups {
		answers[index] = one.evaluate()
	}
	if err := json.NewEncoder(os.Stdout).Encode(answers); err != nil {
		log.Fatal(err)
	}
}

func (g group) evaluate() []*answer {
	compiled := compile(&g.Policy)
	answers := make([]*answer, len(g.Requests))
	for index := range g.Requests {
		attributes, err := requests.Attributes(&g.Requests[index])
		if err != nil {
			continue
		}
		made := compiled.answer(attributes, g.Params)
		made.Object = sent(attributes.GetObject())
		answers[index] = &made
	}
	return answers
}

// sent gives an object as webhooks get it.
func sent(object runtime.Object) map[string]any {
	raw, err := json.Marshal(object)
	if err != nil {
		log.Fatal(err)
	}
	held := map[string]any{}
	if err := json.Unmarshal(raw, &held); err != nil {
		log.Fatal(err)
	}
	return held
}

// policy holds the compiled expressions of a policy, as compilePolicy in plugin.go of the API server's plugin makes them.
type policy struct {
	conditions  matchconditions.Matcher
	validations cel.ConditionEvaluator
	messages    cel.ConditionEvaluator
	params      bool
}

// The libraries of an API server of Kubernetes 1.30, the oldest one that the chart supports.
var environments = environment.MustBaseEnvSet(version.MajorMinor(1, 29))

func compile(source *registrationv1.ValidatingAdmissionPolicy) *policy {
	compiler, err := cel.NewCompositedCompiler(environments)
	if err != nil {
		log.Fatal(err)
	}
	made := &policy{params: source.Spec.ParamKind != nil}
	declared := cel.OptionalVariableDeclarations{HasParams: made.params, HasAuthorizer: true}
	for _, one := range source.Spec.Variables {
		variable := &validating.Variable{Name: one.Name, Expression: one.Expression}
		result := compiler.CompileAndStoreVariable(variable, declared, environment.NewExpressions)
		if result.Error != nil {
			log.Fatalf("%s: variable %s: %v", source.Name, one.Name, result.Error)
		}
	}
	conditions := make([]cel.ExpressionAccessor, len(source.Spec.MatchConditions))
	for index, one := range source.Spec.MatchConditions {
		conditions[index] = &matchconditions.MatchCondition{Name: one.Name, Expression: one.Expression}
	}
	var validations, messages []cel.ExpressionAccessor
	for _, one := range source.Spec.Validations {
		validations = append(validations, &validating.ValidationCondition{Expression: one.Expression})
		messages = append(messages, &validating.MessageExpressionCondition{MessageExpression: one.MessageExpression})
	}
	evaluator := func(expressions []cel.ExpressionAccessor) cel.ConditionEvaluator {
		// New expressions, where the API server is strict, not those that it reads back from its store.
		compiled := compiler.CompileCondition(expressions, declared, environment.NewExpressions)
		if problems := compiled.CompilationErrors(); len(problems) > 0 {
			log.Fatalf("%s: %v", source.Name, problems)
		}
		return compiled
	}
	made.conditions = matchconditions.NewMatcher(
		evaluator(conditions), source.Spec.FailurePolicy, "policy", "validate", source.Name,
	)
	made.validations, made.messages = evaluator(validations), evaluator(messages)
	return made
}

func (p *policy) answer(attributes *admission.VersionedAttributes, params *unstructured.Unstructured) answer {
	bindings := cel.OptionalVariableBindings{}
	var held runtime.Object
	if params != nil && p.params {
		held = params
		bindings.VersionedParams = params
	}
	matched := p.conditions.Match(context.Background(), attributes, held, nil)
	if matched.Error != nil || !matched.Matches {
		return answer{Error: text(matched.Error)}
	}
	request := cel.CreateAdmissionRequest(
		attributes.Attributes,
		metav1.GroupVersionResource(attributes.GetResource()),
		metav1.GroupVersionKind(attributes.VersionedKind),
	)
	budget := int64(celconfig.RuntimeCELCostBudget)
	results, left, err := p.validations.ForInput(context.Background(), attributes, request, bindings, nil, budget)
	made := answer{Error: text(err), Cost: budget - left}
	for index, result := range results {
		if result.Error != nil {
			made.Error = text(result.Error)
		} else if result.EvalResult.Value() != true {
			messages, rest, err := p.messages.ForInput(context.Background(), attributes, request, bindings, nil, left)
			if err != nil || messages[index].Error != nil {
				log.Fatalf("message %d: %v %v", index, err, messages)
			}
			made.Messages = append(made.Messages, fmt.Sprint(messages[index].EvalResult.Value()))
			made.Cost = budget - rest
		}
	}
	return made
}

func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
