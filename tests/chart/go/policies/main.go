// What the API server's own code makes of ValidatingAdmissionPolicies. Reads [{"policies": [...], "params": an object or
// null, "requests": [an AdmissionRequest, ...]}, ...] and writes, for each request of each group, its objects as the API
// server sends them to webhooks, and for each policy its message, "" if it admits the object, what the expressions cost
// without the match conditions, and the seconds of processor time that all of them took. null stands for a request whose objects the API server could not read.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"os"
	"syscall"

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
	Policies []registrationv1.ValidatingAdmissionPolicy `json:"policies"`
	Params   *unstructured.Unstructured                 `json:"params"`
	Requests []admissionv1.AdmissionRequest             `json:"requests"`
}

type answer struct {
	Object    map[string]any `json:"object"`
	OldObject map[string]any `json:"oldObject"`
	Verdicts  []verdict      `json:"verdicts"`
}

type verdict struct {
	Message string  `json:"message"`
	Cost    int64   `json:"cost"`
	Seconds float64 `json:"seconds"`
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
	policies := make([]*policy, len(g.Policies))
	for index := range g.Policies {
		policies[index] = compile(&g.Policies[index])
	}
	answers := make([]*answer, len(g.Requests))
	for index := range g.Requests {
		attributes, err := requests.Attributes(&g.Requests[index])
		if err != nil {
			continue
		}
		made := &answer{Object: sent(attributes.GetObject()), OldObject: sent(attributes.GetOldObject())}
		for _, one := range policies {
			began := processorTime()
			given := one.verdict(attributes, g.Params)
			given.Seconds = processorTime() - began
			made.Verdicts = append(made.Verdicts, given)
		}
		answers[index] = made
	}
	return answers
}

// processorTime is that of the whole process, in seconds.
func processorTime() float64 {
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		log.Fatal(err)
	}
	return float64(used.Utime.Nano()+used.Stime.Nano()) / 1e9
}

// sent gives an object as webhooks get it.
func sent(object runtime.Object) map[string]any {
	if object == nil {
		return nil
	}
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
	audited     cel.ConditionEvaluator
	params      bool
}

// compiled holds policies by their expressions: to compile them takes half a second.
var compiled = map[string]*policy{}

// The libraries of an API server of Kubernetes 1.35, the oldest one that the policies support.
var environments = environment.MustBaseEnvSet(version.MajorMinor(1, 34))

func compile(source *registrationv1.ValidatingAdmissionPolicy) *policy {
	expressions := source.Spec
	expressions.MatchConstraints = nil
	key, err := json.Marshal(expressions)
	if err != nil {
		log.Fatal(err)
	}
	if found, is := compiled[string(key)]; is {
		return found
	}
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
	var validations, messages, audited []cel.ExpressionAccessor
	for _, one := range source.Spec.Validations {
		validations = append(validations, &validating.ValidationCondition{Expression: one.Expression})
		messages = append(messages, &validating.MessageExpressionCondition{MessageExpression: one.MessageExpression})
	}
	for _, one := range source.Spec.AuditAnnotations {
		audited = append(audited, &validating.AuditAnnotationCondition{Key: one.Key, ValueExpression: one.ValueExpression})
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
	made.validations, made.messages, made.audited = evaluator(validations), evaluator(messages), evaluator(audited)
	compiled[string(key)] = made
	return made
}

func (p *policy) verdict(attributes *admission.VersionedAttributes, params *unstructured.Unstructured) verdict {
	bindings := cel.OptionalVariableBindings{}
	var held runtime.Object
	if params != nil && p.params {
		held = params
		bindings.VersionedParams = params
	}
	matched := p.conditions.Match(context.Background(), attributes, held, nil)
	if matched.Error != nil {
		return verdict{Message: "error: " + matched.Error.Error()}
	}
	if !matched.Matches {
		return verdict{}
	}
	request := cel.CreateAdmissionRequest(
		attributes.Attributes,
		metav1.GroupVersionResource(attributes.GetResource()),
		metav1.GroupVersionKind(attributes.VersionedKind),
	)
	budget := int64(celconfig.RuntimeCELCostBudget)
	results, left, err := p.validations.ForInput(context.Background(), attributes, request, bindings, nil, budget)
	if err != nil {
		return verdict{Message: "error: " + err.Error(), Cost: budget - left}
	}
	for index, result := range results {
		if result.Error != nil {
			return verdict{Message: "error: " + result.Error.Error(), Cost: budget - left}
		}
		if result.EvalResult.Value() == true {
			continue
		}
		messages, rest, err := p.messages.ForInput(context.Background(), attributes, request, bindings, nil, left)
		if err != nil {
			return verdict{Message: "error: " + err.Error(), Cost: budget - left}
		}
		if messages[index].Error != nil {
			return verdict{Message: "error: " + messages[index].Error.Error(), Cost: budget - rest}
		}
		return verdict{Message: fmt.Sprint(messages[index].EvalResult.Value()), Cost: budget - rest}
	}
	return verdict{Cost: budget - left}
}
