package spirv

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// globals puts types and constants, from id 20 on, into a module.
func globals(text string) string {
	return strings.Replace(minimal, "%3 =", text+"\n%3 =", 1)
}

func TestTypes(t *testing.T) {
	m := decode(t, shaders(t)["arithmetic.comp"])
	c, err := m.Constants(nil)
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	for _, i := range m.Globals {
		ty := c.Types[i.Result]
		if ty == nil || m.DebugName(i.Result) != "U" {
			continue
		}
		seen++
		if ty.Kind != TypeStruct || len(ty.Members) != 4 || len(ty.Layouts) != 4 {
			t.Fatalf("%+v", ty)
		}
		if l := ty.Layouts[0]; l.Offset != 0 || l.MatrixStride != 16 || !l.RowMajor {
			t.Errorf("m: %+v", l)
		}
		if l := ty.Layouts[1]; l.Offset != 64 || l.MatrixStride != 0 {
			t.Errorf("v: %+v", l)
		}
		a := ty.Members[2]
		if a.Kind != TypeArray || a.Count != 5 || a.Stride != 16 || a.Elem.Kind != TypeFloat || a.Elem.Width != 32 {
			t.Errorf("a: %+v", a)
		}
		ms := ty.Members[3]
		if ms.Elem.Kind != TypeMatrix || ms.Elem.Count != 2 || ms.Elem.Elem.Count != 2 || ty.Layouts[3].Offset != 160 {
			t.Errorf("ms: %+v", ms)
		}
	}
	if seen != 1 {
		t.Errorf("%d structs U", seen)
	}
	m = decode(t, shaders(t)["memory.comp"])
	if c, err = m.Constants(nil); err != nil {
		t.Fatal(err)
	}
	recursive := false
	for _, ty := range c.Types {
		if ty != nil && ty.Kind == TypePointer && ty.Class == StorageClassPhysicalStorageBuffer &&
			ty.Elem.Kind == TypeStruct {
			recursive = recursive || ty.Elem.Members[0] == ty
		}
	}
	if !recursive {
		t.Error("no pointer to a struct that begins with it")
	}
}

func TestSpecialization(t *testing.T) {
	m := decode(t, shaders(t)["control.comp"])
	value := func(c *Constants, spec uint32) uint64 {
		for id := range m.Decorations {
			if d := m.decoration(ID(id), DecorationSpecId); d != nil && d.Operands[0] == spec {
				return c.Values[id].Bits
			}
		}
		t.Fatalf("no constant %d", spec)
		return 0
	}
	length := func(c *Constants) (n uint32) {
		for _, ty := range c.Types {
			if ty != nil && ty.Kind == TypePointer && ty.Class == StorageClassWorkgroup && ty.Elem.Kind == TypeArray {
				n = ty.Elem.Count
			}
		}
		return n
	}
	c, err := m.Constants(nil)
	if err != nil {
		t.Fatal(err)
	}
	if value(c, 0) != 4 || value(c, 1) != uint64(math.Float32bits(1.5)) || value(c, 2) != 1 || length(c) != 9 {
		t.Errorf("%d, %#x, %d, %d", value(c, 0), value(c, 1), value(c, 2), length(c))
	}
	if same, err := m.Constants(map[uint32][]byte{99: {1}}); err != nil || same != c {
		t.Errorf("a specialization of none of its constants: %p, not %p, %v", same, c, err)
	}
	if size, err := m.LocalSize(m.EntryPoints[0], c); err != nil || size != [3]uint32{1, 2, 1} {
		t.Errorf("the local size is %v, %v", size, err)
	}
	specialization := map[uint32][]byte{0: {7, 0, 0, 0}, 1: {0, 0, 0, 0xc0}, 2: {0, 0, 0, 0}, 3: {64, 0, 0, 0}, 99: {1}}
	if c, err = m.Constants(specialization); err != nil {
		t.Fatal(err)
	}
	if value(c, 0) != 7 || value(c, 1) != 0xc0000000 || value(c, 2) != 0 || length(c) != 15 {
		t.Errorf("%d, %#x, %d, %d", value(c, 0), value(c, 1), value(c, 2), length(c))
	}
	if size, err := m.LocalSize(m.EntryPoints[0], c); err != nil || size != [3]uint32{64, 2, 1} {
		t.Errorf("the local size is %v, %v", size, err)
	}
	if _, err = m.Constants(map[uint32][]byte{0: {1}}); err == nil ||
		!strings.Contains(err.Error(), "has 1 bytes, not 4") {
		t.Errorf("a short specialization: %v", err)
	}
	// An array of 2*rounds + 1 = -1 elements.
	if _, err = m.Constants(map[uint32][]byte{0: {0xff, 0xff, 0xff, 0xff}}); err == nil ||
		!strings.Contains(err.Error(), "is not in 1 to 4294967295") {
		t.Errorf("a negative length: %v", err)
	}
}

// TestSpecializedLengthOfZero: an array whose length a specialization may make 0 is one that nobody uses then.
func TestSpecializedLengthOfZero(t *testing.T) {
	m := decode(t, assemble(t, globals(`%20 = OpTypeInt 32 0
%21 = OpConstant %20 5
%22 = OpSpecConstant %20 0
%23 = OpSpecConstantOp %20 IMul %22 %21
%24 = OpTypeArray %20 %23
%25 = OpTypeArray %20 %22`)))
	c, err := m.Constants(nil)
	if err != nil {
		t.Fatal(err)
	}
	for id := ID(24); id <= 25; id++ {
		if n := c.Types[id].Count; n != 1 {
			t.Errorf("%%%d has %d elements", id, n)
		}
	}
}

func TestSpecConstantOp(t *testing.T) {
	const types = `%20 = OpTypeInt 32 1
%21 = OpTypeInt 32 0
%22 = OpTypeBool
%23 = OpTypeInt 64 1
%24 = OpTypeInt 16 1
%25 = OpTypeVector %20 2
%26 = OpTypeFloat 32
%27 = OpTypeFloat 16
%28 = OpTypeVector %22 2
%30 = OpConstant %20 -7
%31 = OpConstant %20 3
%32 = OpConstant %21 7
%33 = OpConstant %20 0
%34 = OpConstantTrue %22
%35 = OpConstant %23 -5000000000
%36 = OpConstant %24 -2
%37 = OpConstantComposite %25 %30 %31
%38 = OpConstantNull %25
%39 = OpConstant %26 65519
%40 = OpConstant %21 40
%41 = OpConstantComposite %28 %34 %34
%42 = OpConstant %26 1e-6
`
	minus := func(v int64) uint64 { return uint64(v) & 0xffffffff }
	for _, test := range []struct {
		text string
		want []uint64
	}{
		{"%20 IAdd %30 %31", []uint64{minus(-4)}},
		{"%20 ISub %31 %30", []uint64{10}},
		{"%20 IMul %30 %31", []uint64{minus(-21)}},
		{"%20 SDiv %30 %31", []uint64{minus(-2)}},
		{"%20 SDiv %30 %33", []uint64{0}},
		{"%20 SRem %30 %31", []uint64{minus(-1)}},
		{"%20 SMod %30 %31", []uint64{2}},
		{"%21 UDiv %30 %31", []uint64{(1<<32 - 7) / 3}},
		{"%21 UMod %32 %31", []uint64{1}},
		{"%20 SNegate %30", []uint64{7}},
		{"%20 Not %31", []uint64{minus(-4)}},
		{"%20 ShiftLeftLogical %30 %31", []uint64{minus(-56)}},
		{"%20 ShiftRightArithmetic %30 %31", []uint64{minus(-1)}},
		{"%20 ShiftRightLogical %30 %31", []uint64{(1<<32 - 7) >> 3}},
		{"%20 ShiftRightLogical %30 %40", []uint64{0}},
		{"%20 BitwiseXor %30 %31", []uint64{minus(-7 ^ 3)}},
		{"%22 SLessThan %30 %31", []uint64{1}},
		{"%22 ULessThan %30 %31", []uint64{0}},
		{"%22 IEqual %30 %30", []uint64{1}},
		{"%22 LogicalNot %34", []uint64{0}},
		{"%22 LogicalNotEqual %34 %34", []uint64{0}},
		{"%20 Select %34 %30 %31", []uint64{minus(-7)}},
		{"%25 Select %34 %37 %38", []uint64{minus(-7), 3}},
		{"%25 Select %41 %38 %37", []uint64{0, 0}},
		{"%23 SConvert %30", []uint64{1<<64 - 7}},
		{"%21 UConvert %35", []uint64{uint64(1<<64-5000000000) & 0xffffffff}},
		{"%20 SConvert %36", []uint64{minus(-2)}},
		{"%27 FConvert %39", []uint64{0x7bff}},
		{"%26 QuantizeToF16 %39", []uint64{uint64(math.Float32bits(65504))}},
		{"%26 QuantizeToF16 %42", []uint64{0}},
		{"%25 IAdd %37 %37", []uint64{minus(-14), 6}},
		{"%25 VectorShuffle %37 %38 1 2", []uint64{3, 0}},
		{"%20 CompositeExtract %37 1", []uint64{3}},
		{"%25 CompositeInsert %31 %38 1", []uint64{0, 3}},
	} {
		m := decode(t, assemble(t, globals(types+"%50 = OpSpecConstantOp "+test.text)))
		c, err := m.Constants(nil)
		if err != nil {
			t.Errorf("%s: %v", test.text, err)
			continue
		}
		v := c.Values[50]
		got := []uint64{v.Bits}
		if len(v.Elements) > 0 {
			got = nil
			for _, e := range v.Elements {
				got = append(got, e.Bits)
			}
		}
		if !slices.Equal(got, test.want) {
			t.Errorf("%s: %#x, want %#x", test.text, got, test.want)
		}
	}
	for text, want := range map[string]string{
		"%20 IAdd %30 %36":              "the types of its operands do not go together",
		"%22 LogicalAnd %34 %30":        "the types of its operands do not go together",
		"%20 CompositeExtract %37 2":    "the index 2 is out of range",
		"%25 VectorShuffle %37 %38 4 0": "the component 4 is out of range",
		"%25 CompositeInsert %34 %38 1": "not of the type that its place has",
		"%20 SNegate %2":                "its operand %2 is not a constant",
	} {
		m := decode(t, assemble(t, globals(types+"%50 = OpSpecConstantOp "+text)))
		if _, err := m.Constants(nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %q", text, err, want)
		}
	}
}

// TestHalf converts every half and back, and rounds between two of them.
func TestHalf(t *testing.T) {
	for h := range 1 << 16 {
		f := fromHalf(uint16(h))
		if math.IsNaN(f) {
			if got := toHalf(f); got&0x7fff != 0x7e00 {
				t.Errorf("%#x: NaN gives %#x", h, got)
			}
			continue
		}
		if got := toHalf(f); got != uint16(h) {
			t.Fatalf("%#x is %g, which gives %#x", h, f, got)
		}
		if h&0x7fff >= 0x7bff {
			continue
		}
		next := fromHalf(uint16(h + 1))
		even := uint16(h)
		if h&1 != 0 {
			even++
		}
		if got := toHalf((f + next) / 2); got != even {
			t.Fatalf("between %g and %g: %#x, want %#x", f, next, got, even)
		}
		if got := toHalf(f + (next-f)*0.51); got != uint16(h+1) {
			t.Fatalf("above the middle of %g and %g: %#x", f, next, got)
		}
	}
	if toHalf(65519.9) != 0x7bff || toHalf(65520) != 0x7c00 || toHalf(-1e300) != 0xfc00 {
		t.Error("wrong at the limit")
	}
}

func TestConstantsRefuse(t *testing.T) {
	deep := "%20 = OpTypeInt 32 0\n%21 = OpTypeStruct %20 %20\n"
	for n := 22; n < 60; n++ {
		deep += strings.ReplaceAll(strings.ReplaceAll("%N = OpTypeStruct %P %P\n", "N", strconv.Itoa(n)), "P",
			strconv.Itoa(n-1))
	}
	for name, test := range map[string]struct{ text, want string }{
		"vector":    {"%20 = OpTypeInt 32 0\n%21 = OpTypeVector %20 5", "no vectors of 5 components"},
		"width":     {"%20 = OpTypeInt 24 0", "no integers of 24 bits"},
		"matrix":    {"%20 = OpTypeInt 32 0\n%21 = OpTypeVector %20 2\n%22 = OpTypeMatrix %21 2", "not a vector of floats"},
		"length":    {"%20 = OpTypeInt 32 0\n%21 = OpConstant %20 0\n%22 = OpTypeArray %20 %21", "is not in 1 to"},
		"member":    {"%20 = OpTypeStruct %2", "can't be a member"},
		"recursive": {"%20 = OpTypeStruct %20", "not a type that stands in front of it"},
		"array": {"%20 = OpTypeInt 32 0\n%21 = OpTypeRuntimeArray %20\n%22 = OpTypeStruct %21 %20",
			"in front of the last one"},
		"composite": {"%20 = OpTypeInt 32 0\n%21 = OpTypeVector %20 2\n%22 = OpConstant %20 1\n%23 = " +
			"OpConstantComposite %21 %22", "it has 1 constituents"},
		"wrong part": {"%20 = OpTypeInt 32 0\n%21 = OpTypeVector %20 2\n%22 = OpConstantNull %21\n%23 = " +
			"OpConstantComposite %21 %22 %22", "not a constant of the type"},
		"bool": {"%20 = OpTypeInt 32 0\n%21 = OpConstantTrue %20", "is not bool"},
		"large null": {"%20 = OpTypeInt 32 0\n%21 = OpConstant %20 2000000000\n%22 = OpTypeArray %20 %21\n%23 = " +
			"OpConstantNull %22", "more than 1048576 elements"},
		"deep":       {deep, "more than 65536 parts"},
		"null image": {"%20 = OpTypeSampler\n%21 = OpConstantNull %20", "no null of type %20"},
	} {
		m := decode(t, assemble(t, globals(test.text)))
		if _, err := m.Constants(nil); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: error %v, want %q", name, err, test.want)
		}
	}
}

func TestLocalSize(t *testing.T) {
	const constants = `%20 = OpTypeInt 32 0
%21 = OpConstant %20 5
%22 = OpTypeVector %20 3
%23 = OpConstantComposite %22 %21 %21 %21`
	for name, test := range map[string]struct {
		text string
		want [3]uint32
	}{
		"mode": {minimal, [3]uint32{1, 1, 1}},
		"id": {strings.Replace(globals(constants), "OpExecutionMode %1 LocalSize 1 1 1",
			"OpExecutionMode %1 LocalSize 1 1 1\nOpExecutionModeId %1 LocalSizeId %21 %21 %21", 1),
			[3]uint32{5, 5, 5}},
		"built-in": {strings.Replace(globals(constants), "1 1 1\n", "1 2 3\nOpDecorate %23 BuiltIn WorkgroupSize\n", 1),
			[3]uint32{5, 5, 5}},
		"wrong": {strings.Replace(globals(constants), "1 1 1\n", "1 2 3\nOpDecorate %21 BuiltIn WorkgroupSize\n", 1),
			[3]uint32{}},
		"none": {strings.Replace(minimal, "OpExecutionMode %1 LocalSize 1 1 1\n", "", 1), [3]uint32{}},
	} {
		m := decode(t, assemble(t, test.text))
		c, err := m.Constants(nil)
		if err != nil {
			t.Fatal(err)
		}
		size, err := m.LocalSize(m.EntryPoints[0], c)
		if size != test.want || (err == nil) != (test.want[0] != 0) {
			t.Errorf("%s: %v, %v; want %v", name, size, err, test.want)
		}
	}
}

// TestCheckEntryPoint specializes what Check saw with defaults. A variable that is too large is not used.
func TestCheckEntryPoint(t *testing.T) {
	text := fill(`entry: OpExecutionModeId %main LocalSizeId %x %u1 %u1
decoration: OpDecorate %x SpecId 0; OpDecorate %n SpecId 1
global: %x = OpSpecConstant %uint 8; %n = OpSpecConstant %uint 9; %arrn = OpTypeArray %float %n; ` +
		`%pn = OpTypePointer Workgroup %arrn; %w = OpVariable %pn Workgroup; %u9000 = OpConstant %uint 9000; ` +
		`%arrbig = OpTypeArray %float %u9000; %pbig = OpTypePointer Workgroup %arrbig; ` +
		`%unused = OpVariable %pbig Workgroup; %nulln = OpConstantNull %arrn
body: %e = OpCompositeExtract %float %nulln 8; %pw = OpAccessChain %psf %w %c0; OpStore %pw %e`)
	text = strings.Replace(text, "OpExecutionMode %main LocalSize 8 1 1\n", "", 1)
	text = strings.Replace(text, " %uniform\n", " %uniform %w\n", 1)
	text = strings.Replace(text, "%pfint =", "%psf = OpTypePointer Workgroup %float\n%pfint =", 1)
	m := decode(t, assemble(t, text))
	env := everything()
	if err := m.Check(env); err != nil {
		t.Fatal(err)
	}
	word := func(n uint32) []byte { return toBytes([]uint32{n}) }
	for name, test := range map[string]struct {
		specialization map[uint32][]byte
		want           string
	}{
		"defaults":      {nil, ""},
		"larger":        {map[uint32][]byte{0: word(1024), 1: word(8000)}, ""},
		"too wide":      {map[uint32][]byte{0: word(1025)}, "is not in 1 to"},
		"no invocation": {map[uint32][]byte{0: word(0)}, "is not in 1 to"},
		"memory":        {map[uint32][]byte{1: word(8193)}, "bytes, more than 32768"},
		"short array":   {map[uint32][]byte{1: word(8)}, "the index 8 is out of range"},
	} {
		c, err := m.Constants(test.specialization)
		if err != nil {
			t.Fatal(name, err)
		}
		err = m.CheckEntryPoint(m.EntryPoints[0], c, env)
		if test.want == "" && err != nil || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
			t.Errorf("%s: error %v, want %q", name, err, test.want)
		}
	}
}
