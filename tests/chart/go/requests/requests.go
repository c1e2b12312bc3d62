// Package requests reads AdmissionRequests as the API server holds them.
package requests

import (
	"encoding/json"

	admissionv1 "k8s.io/api/admission/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/client-go/kubernetes/scheme"
)

// Attributes gives what the API server's plugins get for a request. It fails where an object has not the structure of
// its kind.
func Attributes(request *admissionv1.AdmissionRequest) (*admission.VersionedAttributes, error) {
	kind := schema.GroupVersionKind(request.Kind)
	object, err := decode(request.Object, kind)
	if err != nil {
		return nil, err
	}
	oldObject, err := decode(request.OldObject, kind)
	if err != nil {
		return nil, err
	}
	caller := &user.DefaultInfo{Name: request.UserInfo.Username, Groups: request.UserInfo.Groups}
	record := admission.NewAttributesRecord(
		object, oldObject, kind, request.Namespace, request.Name, schema.GroupVersionResource(request.Resource),
		request.SubResource, admission.Operation(request.Operation), nil, false, caller,
	)
	return admission.NewVersionedAttributes(record, kind, nil)
}

// decode gives what the API server holds: a type for a built-in kind, a mapping for a custom one.
func decode(raw runtime.RawExtension, kind schema.GroupVersionKind) (runtime.Object, error) {
	if len(raw.Raw) == 0 || string(raw.Raw) == "null" {
		return nil, nil
	}
	var object runtime.Object = &unstructured.Unstructured{}
	if scheme.Scheme.Recognizes(kind) {
		typed, err := scheme.Scheme.New(kind)
		if err != nil {
			return nil, err
		}
		object = typed
	}
	if err := json.Unmarshal(raw.Raw, object); err != nil {
		return nil, err
	}
	object.GetObjectKind().SetGroupVersionKind(kind)
	return object, nil
}
