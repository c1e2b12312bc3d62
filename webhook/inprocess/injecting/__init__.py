"""The injections, as the expressions of MutatingAdmissionPolicies: one module for each."""
