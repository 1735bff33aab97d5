// Package emit prints the registry's model as Go source.
package emit

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// TypeName is the Go name, inside package vk, of a registry type: VkDevice is Device.
func TypeName(name string) string { return strings.TrimPrefix(name, "Vk") }

// ConstName is the Go name, inside package vk, of a constant or enumerant: VK_SUCCESS is SUCCESS.
func ConstName(name string) string { return strings.TrimPrefix(name, "VK_") }

// FieldName is the Go name of a structure member: sType is SType.
func FieldName(name string) string {
	r, n := utf8.DecodeRuneInString(name)
	return string(unicode.ToUpper(r)) + name[n:]
}
