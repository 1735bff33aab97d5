package spirv

import (
	"slices"
	"testing"
)

func TestNames(t *testing.T) {
	for _, test := range []struct{ got, want string }{
		{OpIAdd.String(), "OpIAdd"},
		{OpNop.String(), "OpNop"},
		{Op(65535).String(), "Op(65535)"},
		{GLSLSin.String(), "Sin"},
		{GLSL(0).String(), "GLSL(0)"},
		{GLSL(1 << 31).String(), "GLSL(2147483648)"},
		{DecorationBinding.String(), "Binding"},
		{BuiltInWorkgroupId.String(), "WorkgroupId"},
		{Dim2D.String(), "2D"},
		{StorageClass(99).String(), "99"},
		{MemoryAccess(0).String(), "None"},
		{MemoryAccess(3).String(), "Volatile|Aligned"},
		{MemoryAccess(1<<31 | 1).String(), "Volatile|0x80000000"},
	} {
		if test.got != test.want {
			t.Errorf("%q, want %q", test.got, test.want)
		}
	}
}

func TestOperandTable(t *testing.T) {
	for op, want := range map[Op][]operand{
		OpNop:  nil,
		OpIAdd: {operand(kindIdResultType), operand(kindIdResult), operand(kindIdRef), operand(kindIdRef)},
		OpLoad: {operand(kindIdResultType), operand(kindIdResult), operand(kindIdRef),
			operand(kindMemoryAccess) | optional},
		OpPhi:      {operand(kindIdResultType), operand(kindIdResult), operand(kindPairIdRefIdRef) | repeated},
		OpDecorate: {operand(kindIdRef), operand(kindDecoration)},
		OpReturn:   nil,
		OpExtInst: {operand(kindIdResultType), operand(kindIdResult), operand(kindIdRef),
			operand(kindLiteralExtInstInteger), operand(kindIdRef) | repeated},
		OpTypeFloat: {operand(kindIdResult), operand(kindLiteralInteger), operand(kindFPEncoding) | optional},
	} {
		if got := op.info().operands.operands(); !slices.Equal(got, want) {
			t.Errorf("%v: operands %v, want %v", op, got, want)
		}
	}
	if o := operand(kindIdRef) | repeated; o.kind() != kindIdRef {
		t.Errorf("the kind of %#x is %d", o, o.kind())
	}
}
