// What the API server's own code makes of pods by MutatingAdmissionPolicies. Reads [{"policies": [...], "params": an object,
// "labels": those of the namespace, "requests": [an AdmissionRequest, ...]}, ...] and writes, for each request of each
// group, its object as the API server sends it to webhooks, and the object that the policies make of it.
package main

import (
	"context"
	"encoding/json"
	"log"
	"os"

	celgo "github.com/google/cel-go/cel"
	admissionv1 "k8s.io/api/admission/v1"
	registrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/version"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/admission/plugin/cel"
	"k8s.io/apiserver/pkg/admission/plugin/policy/mutating/patch"
	"k8s.io/apiserver/pkg/admission/plugin/webhook/matchconditions"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"k8s.io/apiserver/pkg/cel/environment"
	"k8s.io/client-go/kubernetes/scheme"

	"charttools/requests"
)

type group struct {
	Policies []registrationv1.MutatingAdmissionPolicy `json:"policies"`
	Params   *unstructured.Unstructured               `json:"params"`
	Labels   map[string]string                        `json:"labels"`
	Requests []admissionv1.AdmissionRequest           `json:"requests"`
}

type answer struct {
	Object  runtime.Object `json:"object"`
	Changed runtime.Object `json:"changed"`
}

func main() {
	var groups []group
	if err := json.NewDecoder(os.Stdin).Decode(&groups); err != nil {
		log.Fatal(err)
	}
	answers := make([][]answer, len(groups))
	for index, one := range groups {
		answers[index] = one.evaluate()
	}
	if err := json.NewEncoder(os.Stdout).Encode(answers); err != nil {
		log.Fatal(err)
	}
}

func (g group) evaluate() []answer {
	policies := make([]*policy, len(g.Policies))
	for index := range g.Policies {
		policies[index] = compile(&g.Policies[index])
	}
	answers := make([]answer, len(g.Requests))
	for index := range g.Requests {
		request := &g.Requests[index]
		attributes, err := requests.Attributes(request)
		if err != nil {
			log.Fatal(err)
		}
		answers[index].Object = attributes.GetObject().DeepCopyObject()
		namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: request.Namespace, Labels: g.Labels}}
		for _, one := range policies {
			if err := one.apply(attributes, g.Params, namespace); err != nil {
				log.Fatalf("%s: %v: %s", one.name, err, request.Object.Raw)
			}
		}
		answers[index].Changed = attributes.VersionedObject.Object()
	}
	return answers
}

// policy holds the compiled expressions of a policy, as compilePolicy in the API server's plugin makes them
// (k8s.io/apiserver pkg/admission/plugin/policy/mutating/compilation.go).
type policy struct {
	name      string
	matcher   matchconditions.Matcher
	compiler  *cel.CompositedCompiler
	patcher   patch.Patcher
	hasParams bool
}

type variable struct{ name, expression string }

func (v *variable) GetName() string            { return v.name }
func (v *variable) GetExpression() string      { return v.expression }
func (v *variable) ReturnTypes() []*celgo.Type { return []*celgo.Type{celgo.AnyType, celgo.DynType} }

// The libraries of an API server of Kubernetes 1.36, the oldest one that serves these policies.
var environments = environment.MustBaseEnvSet(version.MajorMinor(1, 35))

func compile(source *registrationv1.MutatingAdmissionPolicy) *policy {
	compiler, err := cel.NewCompositedCompiler(environments)
	if err != nil {
		log.Fatal(err)
	}
	made := &policy{name: source.Name, compiler: compiler, hasParams: source.Spec.ParamKind != nil}
	declared := cel.OptionalVariableDeclarations{HasParams: made.hasParams, HasAuthorizer: true}
	for _, one := range source.Spec.Variables {
		named := &variable{one.Name, one.Expression}
		if result := compiler.CompileAndStoreVariable(named, declared, environment.NewExpressions); result.Error != nil {
			log.Fatalf("%s: variable %s: %v", source.Name, one.Name, result.Error)
		}
	}
	conditions := make([]cel.ExpressionAccessor, len(source.Spec.MatchConditions))
	for index := range source.Spec.MatchConditions {
		conditions[index] = (*matchconditions.MatchCondition)(&source.Spec.MatchConditions[index])
	}
	compiled := cel.NewConditionCompiler(environments).CompileCondition(conditions, declared, environment.NewExpressions)
	if problems := compiled.CompilationErrors(); len(problems) > 0 {
		log.Fatalf("%s: %v", source.Name, problems)
	}
	made.matcher = matchconditions.NewMatcher(compiled, source.Spec.FailurePolicy, "policy", "admit", source.Name)
	declared.HasPatchTypes = true
	expression := &patch.JSONPatchCondition{Expression: source.Spec.Mutations[0].JSONPatch.Expression}
	evaluator := compiler.CompileMutatingEvaluator(expression, declared, environment.NewExpressions)
	if problems := evaluator.CompilationErrors(); len(problems) > 0 {
		log.Fatalf("%s: %v", source.Name, problems)
	}
	made.patcher = patch.NewJSONPatcher(evaluator)
	return made
}

// apply changes the object of the attributes if the conditions of the policy hold.
func (p *policy) apply(
	attributes *admission.VersionedAttributes, params *unstructured.Unstructured, namespace *corev1.Namespace,
) error {
	bindings := cel.OptionalVariableBindings{}
	var held runtime.Object
	if p.hasParams {
		held, bindings.VersionedParams = params, params
	}
	ctx := p.compiler.CreateContext(context.Background())
	matched := p.matcher.Match(ctx, attributes, held, nil)
	if matched.Error != nil || !matched.Matches {
		return matched.Error
	}
	changed, err := p.patcher.Patch(ctx, patch.Request{
		MatchedResource:     schema.GroupVersionResource(attributes.GetResource()),
		VersionedAttributes: attributes,
		ObjectInterfaces:    interfaces{},
		OptionalVariables:   bindings,
		Namespace:           namespace,
	}, celconfig.RuntimeCELCostBudget)
	if err != nil {
		return err
	}
	changed.GetObjectKind().SetGroupVersionKind(attributes.VersionedKind)
	attributes.UpdateObject(changed)
	return nil
}

// interfaces are those of built-in kinds.
type interfaces struct{}

func (interfaces) GetObjectCreater() runtime.ObjectCreater                       { return scheme.Scheme }
func (interfaces) GetObjectTyper() runtime.ObjectTyper                           { return scheme.Scheme }
func (interfaces) GetObjectDefaulter() runtime.ObjectDefaulter                   { return scheme.Scheme }
func (interfaces) GetObjectConvertor() runtime.ObjectConvertor                   { return scheme.Scheme }
func (interfaces) GetEquivalentResourceMapper() runtime.EquivalentResourceMapper { return nil }
