package kong

import (
	"fmt"
	"reflect"
)

// The linker keeps every exported method of every type of a program that looks up methods
// by names that it does not know. So each name is written out.

// methodByName is v.MethodByName(name).
func methodByName(v reflect.Value, name string) reflect.Value {
	switch name {
	case "BeforeReset":
		return v.MethodByName("BeforeReset")
	case "BeforeResolve":
		return v.MethodByName("BeforeResolve")
	case "BeforeApply":
		return v.MethodByName("BeforeApply")
	case "AfterApply":
		return v.MethodByName("AfterApply")
	case "AfterRun":
		return v.MethodByName("AfterRun")
	case "Run":
		return v.MethodByName("Run")
	}
	panic(fmt.Sprintf("methodByName does not know %s", name))
}

// typeMethodByName is t.MethodByName(name).
func typeMethodByName(t reflect.Type, name string) (reflect.Method, bool) {
	switch name {
	case "BeforeReset":
		return t.MethodByName("BeforeReset")
	case "BeforeResolve":
		return t.MethodByName("BeforeResolve")
	case "BeforeApply":
		return t.MethodByName("BeforeApply")
	case "AfterApply":
		return t.MethodByName("AfterApply")
	case "AfterRun":
		return t.MethodByName("AfterRun")
	}
	panic(fmt.Sprintf("typeMethodByName does not know %s", name))
}
