package core

import (
	"cmp"
	"strings"
)

// Requirement is one condition on the labels of a host.
type Requirement struct {
	Label, Op, Value string
}

// Requirements are conditions that a host must all meet.
type Requirements []Requirement

// MaxRequirements bounds the conditions of one text.
const MaxRequirements = 64

// requirementOps are the operators; those that begin with another one come before it.
var requirementOps = []string{"!=", ">=", "<=", "==", "=", ">", "<"}

// ParseRequirements reads conditions such as "zone=a,gpu!=no,cores>=8": labels are compared by =, ==, !=, >=, <=, > or
// <, and commas mean "and". Returns INVALID or LIMIT.
func ParseRequirements(text string) (Requirements, error) {
	var all Requirements
	for one := range strings.SplitSeq(text, ",") {
		if one = strings.TrimSpace(one); one == "" {
			continue
		}
		if len(all) == MaxRequirements {
			return nil, Errorf(CodeLimit, "requires", "there are more than %d requirements: name fewer", MaxRequirements)
		}
		r, err := parseRequirement(one)
		if err != nil {
			return nil, err
		}
		all = append(all, r)
	}
	return all, nil
}

func parseRequirement(text string) (Requirement, error) {
	at := strings.IndexAny(text, "=!<>")
	for _, op := range requirementOps {
		if at < 0 || !strings.HasPrefix(text[at:], op) {
			continue
		}
		r := Requirement{Label: strings.TrimSpace(text[:at]), Op: op, Value: strings.TrimSpace(text[at+len(op):])}
		if op == "==" {
			r.Op = "="
		}
		return r, cmp.Or(CheckName("label", r.Label), CheckName("value of label "+r.Label, r.Value))
	}
	return Requirement{}, Errorf(CodeInvalid, "requires", "%.140q is no requirement: write it as LABEL=VALUE, or with !=, >=, <=, > or <", text)
}

// String returns the condition as ParseRequirements reads it.
func (r Requirement) String() string { return r.Label + r.Op + r.Value }

// Lacks returns the first condition that a host with these labels does not meet; "" if it meets all. A host without a
// label meets only conditions by which the label is not to have a value.
func (all Requirements) Lacks(labels map[string]string) string {
	for _, r := range all {
		value, has := labels[r.Label]
		if !has && r.Op != "!=" || has && !holds(r.Op, compareLabels(value, r.Value)) {
			return r.String()
		}
	}
	return ""
}

// holds reports whether an operator is true of two values that compare in such a way.
func holds(op string, order int) bool {
	switch op {
	case "!=":
		return order != 0
	case ">=":
		return order >= 0
	case "<=":
		return order <= 0
	case ">":
		return order > 0
	case "<":
		return order < 0
	}
	return order == 0
}

// compareLabels compares values of labels: as numbers if both are whole numbers, of any length, else as text.
func compareLabels(a, b string) int {
	if !digits(a) || !digits(b) {
		return strings.Compare(a, b)
	}
	a, b = strings.TrimLeft(a, "0"), strings.TrimLeft(b, "0")
	return cmp.Or(cmp.Compare(len(a), len(b)), strings.Compare(a, b))
}

func digits(s string) bool {
	return s != "" && strings.Trim(s, "0123456789") == ""
}
