// What the API server's own code makes of match conditions: which entries of webhook configurations a request is sent
// to. Reads [{"entries": [a webhook, ...], "requests": [an AdmissionRequest, ...]}, ...] and writes, for each request
// of each group, a list with "called", "skipped: CONDITION" or "error: MESSAGE" for each entry. Instead of the list
// stands null for a request whose objects the API server could not read.
package main

import (
	"context"
	"fmt"
	"log"

	admissionv1 "k8s.io/api/admission/v1"
	registrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/util/version"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/admission/plugin/cel"
	"k8s.io/apiserver/pkg/admission/plugin/webhook/matchconditions"
	"k8s.io/apiserver/pkg/cel/environment"

	"charttools/requests"
	"charttools/service"
)

type group struct {
	Entries  []registrationv1.ValidatingWebhook `json:"entries"`
	Requests []admissionv1.AdmissionRequest     `json:"requests"`
}

func main() {
	service.Serve(func(groups []group) [][][]string {
		verdicts := make([][][]string, len(groups))
		for index, one := range groups {
			verdicts[index] = one.evaluate()
		}
		return verdicts
	})
}

func (g group) evaluate() [][]string {
	matchers := make([]matchconditions.Matcher, len(g.Entries))
	for index, entry := range g.Entries {
		matchers[index] = compile(entry)
	}
	verdicts := make([][]string, len(g.Requests))
	for index := range g.Requests {
		attributes, err := requests.Attributes(&g.Requests[index])
		if err != nil {
			continue
		}
		for _, matcher := range matchers {
			verdicts[index] = append(verdicts[index], verdict(matcher, attributes))
		}
	}
	return verdicts
}

// compiled holds what was compiled by its source: compiling is what takes the time.
var compiled = map[string]matchconditions.Matcher{}

// The oldest Kubernetes of the chart: newer functions are none.
var compiler = cel.NewConditionCompiler(environment.MustBaseEnvSet(version.MajorMinor(1, 30)))

func compile(entry registrationv1.ValidatingWebhook) matchconditions.Matcher {
	source := fmt.Sprint(*entry.FailurePolicy, entry.MatchConditions)
	if matcher, found := compiled[source]; found {
		return matcher
	}
	expressions := make([]cel.ExpressionAccessor, len(entry.MatchConditions))
	for index, condition := range entry.MatchConditions {
		expressions[index] = &matchconditions.MatchCondition{Name: condition.Name, Expression: condition.Expression}
	}
	declared := cel.OptionalVariableDeclarations{HasAuthorizer: true}
	// New expressions, where the API server is strict, not those that it reads back from its store.
	evaluator := compiler.CompileCondition(expressions, declared, environment.NewExpressions)
	if problems := evaluator.CompilationErrors(); len(problems) > 0 {
		log.Fatalf("%s: %v", entry.Name, problems)
	}
	compiled[source] = matchconditions.NewMatcher(evaluator, entry.FailurePolicy, "webhook", "validate", entry.Name)
	return compiled[source]
}

func verdict(matcher matchconditions.Matcher, attributes *admission.VersionedAttributes) string {
	result := matcher.Match(context.Background(), attributes, nil, nil)
	switch {
	case result.Error != nil:
		return "error: " + result.Error.Error()
	case result.Matches:
		return "called"
	default:
		return "skipped: " + result.FailedConditionName
	}
}
