package registry

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func mini(t testing.TB) string {
	t.Helper()
	data, err := os.ReadFile("testdata/mini.xml")
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func parseMini(t testing.TB) *Registry {
	t.Helper()
	reg, err := Parse(strings.NewReader(mini(t)))
	if err != nil {
		t.Fatal(err)
	}
	return reg
}

func TestEnumerants(t *testing.T) {
	reg := parseMini(t)
	want := map[string]int64{
		"VK_ERROR_OUT_OF_HOST_MEMORY":      -1,
		"VK_ERROR_OUT_OF_POOL_MEMORY":      -1000069000,
		"VK_STRUCTURE_TYPE_THING_FEATURES": 1000001004,
		"VK_STRUCTURE_TYPE_THING_INFO_KHR": 0,
		"VK_THING_B_BIT":                   1 << 31,
		"VK_THING_C_BIT_KHR":               16,
		"VK_WIDE_TOP_BIT":                  -1 << 63,
	}
	seen := 0
	for _, e := range reg.Enums {
		for _, v := range e.Values {
			if v.Name == "VK_OFF_KHR" {
				t.Error("an enumerant of a disabled extension was kept")
			}
			if w, ok := want[v.Name]; ok {
				seen++
				if v.Value != w {
					t.Errorf("%s = %d, want %d", v.Name, v.Value, w)
				}
			}
		}
	}
	if seen != len(want) {
		t.Errorf("found %d of %d enumerants", seen, len(want))
	}
	if wide := reg.Type("VkWideFlagBits").(*Enum); wide.Width != 64 || !wide.Bitmask {
		t.Errorf("VkWideFlagBits = %+v, want a bitmask of 64 bits", wide)
	}
}

func TestStruct(t *testing.T) {
	reg := parseMini(t)
	s := reg.Type("VkThingInfo").(*Struct)
	want := []*Decl{
		{Name: "sType", Type: "VkStructureType", Values: "VK_STRUCTURE_TYPE_THING_INFO"},
		{Name: "pNext", Type: "void", Pointer: 1, Const: true, Optional: "true"},
		{Name: "label", Type: "char", Array: []int{5}, Len: "null-terminated"},
		{Name: "ppNames", Type: "char", Pointer: 2, Const: true, Len: "nameCount,null-terminated"},
		{Name: "low", Type: "uint32_t", Bits: 24},
		{Name: "high", Type: "uint32_t", Bits: 8},
		{Name: "matrix", Type: "float", Array: []int{3, 4}},
		{Name: "value", Type: "VkValue"},
	}
	if diff := cmp.Diff(want, s.Members); diff != "" {
		t.Errorf("the members differ: %s", diff)
	}
	if got := reg.Resolve("VkThingInfoKHR"); got != "VkThingInfo" {
		t.Errorf("VkThingInfoKHR resolves to %s", got)
	}
	if reg.Type("VkSafetyCriticalOnly") != nil {
		t.Error("a type of API vulkansc was kept")
	}
	if reg.HeaderVersion != 7 {
		t.Errorf("header version %d, want 7", reg.HeaderVersion)
	}
}

func TestCommands(t *testing.T) {
	reg := parseMini(t)
	type row struct {
		alias   string
		level   Level
		version uint32
		exts    string
		params  int
		queues  string
	}
	const queues = "VK_QUEUE_GRAPHICS_BIT,VK_QUEUE_COMPUTE_BIT"
	want := map[string]row{
		"vkCreateInstance":      {"", Global, 1 << 22, "", 2, ""},
		"vkGetInstanceProcAddr": {"", Global, 1 << 22, "", 2, ""},
		"vkGetThing":            {"", PhysicalDevice, 1<<22 | 1<<12, "", 3, ""},
		"vkCmdThing":            {"", Device, 1<<22 | 1<<12, "", 3, queues},
		"vkCmdThingKHR":         {"vkCmdThing", Device, 0, "VK_KHR_thing", 3, queues},
	}
	if len(reg.Commands) != len(want) {
		t.Errorf("%d commands, want %d", len(reg.Commands), len(want))
	}
	for _, c := range reg.Commands {
		got := row{c.Alias, c.Level, c.Version, strings.Join(c.Extensions, ","), len(c.Params), strings.Join(c.Queues, ",")}
		if got != want[c.Name] {
			t.Errorf("%s: %+v, want %+v", c.Name, got, want[c.Name])
		}
	}
	ext := reg.Extensions
	if len(ext) != 1 || ext[0].SpecVersion != 3 || ext[0].PromotedTo != "VK_VERSION_1_1" ||
		ext[0].Depends != "VK_VERSION_1_0+VK_KHR_other" {
		t.Errorf("extensions: %+v", ext)
	}
}

func TestLiteral(t *testing.T) {
	for c, want := range map[string]string{
		"(~0U)": "0xffffffff", "(~2U)": "0xfffffffd", "(~0ULL)": "0xffffffffffffffff",
		"1000.0F": "1000.0", "0.25f": "0.25", "256": "256", `"VK_KHR_x"`: `"VK_KHR_x"`,
	} {
		if got, err := literal(c); err != nil || got != want {
			t.Errorf("literal(%s) = %s, %v; want %s", c, got, err, want)
		}
	}
	for _, c := range []string{"", "(~U)", "x", `"`, "(1 << 2)"} {
		if got, err := literal(c); err == nil {
			t.Errorf("literal(%s) = %s, want an error", c, got)
		}
	}
}

// TestMalformed breaks one thing at a time: the error is one line and names the element.
func TestMalformed(t *testing.T) {
	for _, test := range []struct{ old, new, want string }{
		{`<name>low</name>:24`, `<name>low</name>:24x`, `<member name="low">: bad bitfield width`},
		{`<name>low</name>:24`, `:24`, `<member>: no <name>`},
		{`<enum>VK_LABEL_SIZE</enum>`, `<enum>VK_NO_SIZE</enum>`, `<member name="label">: unknown array length "VK_NO_SIZE"`},
		{`[3][4]`, `[3][4`, `<member name="matrix">: cannot read`},
		{`<type>VkValue</type>`, `<type>VkNothing</type>`, `<type name="VkThingInfo">: unknown type "VkNothing"`},
		{`values="VK_STRUCTURE_TYPE_THING_INFO"`, `values="VK_STRUCTURE_TYPE_X"`, `<type name="VkThingInfo">: unknown sType`},
		{`bitpos="31"`, `bitpos="32"`, `<enum name="VK_THING_B_BIT">: bad bitpos "32"`},
		{`value="-1"`, `value="minus"`, `<enum name="VK_ERROR_OUT_OF_HOST_MEMORY">: bad value`},
		{`offset="4"`, `offset="1000"`, `<enum name="VK_STRUCTURE_TYPE_THING_FEATURES">: bad offset`},
		{`number="2" type="device"`, `number="two" type="device"`, `<extension name="VK_KHR_thing">: bad number`},
		{`type="device" depends`, `type="other" depends`, `<extension name="VK_KHR_thing">: bad type`},
		{`number="1.1"`, `number="one"`, `<feature name="VK_VERSION_1_1">: bad number`},
		{`<command name="vkGetThing"/>`, `<command name="vkGetThings"/>`, `<command name="vkGetThings">: no such command`},
		{`alias="vkCmdThing"`, `alias="vkCmdNothing"`, `<command name="vkCmdThingKHR">: alias of an unknown command`},
		{`alias="VkThing"`, `alias="VkThingKHR"`, `<type name="VkThingKHR">: alias of itself`},
		{`alias="VkThing"`, `alias="VkResult"`, `<type name="VkThingKHR">: alias of a type of another kind`},
		{`alias="VK_STRUCTURE_TYPE_THING_INFO"`, `alias="VK_X"`,
			`<enum name="VK_STRUCTURE_TYPE_THING_INFO_KHR">: alias of an unknown enumerant`},
		{`blockSize="1"`, `blockSize="big"`, `<format name="VK_FORMAT_R8_UNORM">: bad blockSize`},
		{`<format name="VK_FORMAT_R8_UNORM"`, `<format name="VK_FORMAT_X"`, `<format name="VK_FORMAT_X">: no such enumerant`},
		{`(~1U)`, `(1?2)`, `<enum name="VK_ALMOST_ALL">: bad constant`},
		{`category="union"`, `category="onion"`, `<type name="VkValue">: unknown category "onion"`},
		{`<name>VK_HEADER_VERSION</name> 7`, `7`, `<type name="VK_HEADER_VERSION">: not defined`},
		{`</formats>`, `</format>`, `<formats>: element <formats> closed by </format>`},
		{`<registry>`, `<register>`, `<`},
	} {
		doc := strings.Replace(mini(t), test.old, test.new, 1)
		if doc == mini(t) {
			t.Errorf("%q does not occur", test.old)
			continue
		}
		checkError(t, doc, test.want)
	}
}

func checkError(t *testing.T, doc, want string) {
	t.Helper()
	_, err := Parse(strings.NewReader(doc))
	if err == nil {
		t.Errorf("no error, want %s", want)
		return
	}
	var e *Error
	if !errors.As(err, &e) {
		t.Errorf("%v is a %T, not an *Error", err, err)
	}
	if got := err.Error(); !strings.Contains(got, want) || strings.Contains(got, "\n") {
		t.Errorf("error %q, want one line with %s", got, want)
	}
}

// TestTruncated cuts the document at every 97th byte.
func TestTruncated(t *testing.T) {
	doc := mini(t)
	for n := 0; n < len(doc)-20; n += 97 {
		checkError(t, doc[:n], "registry: ")
	}
	checkError(t, doc[:strings.Index(doc, "VkThingInfoKHR")], `<type name="VkThingInfo`)
}

// FuzzRegistry starts from the small documents in testdata/fuzz: the whole of mini.xml takes the fuzzer
// minutes to minimise.
func FuzzRegistry(f *testing.F) {
	f.Fuzz(func(t *testing.T, doc []byte) {
		reg, err := Parse(strings.NewReader(string(doc)))
		switch {
		case err != nil && strings.Contains(err.Error(), "\n"):
			t.Errorf("an error of several lines: %q", err)
		case err == nil && (len(reg.Versions) == 0 || reg.HeaderVersion == 0):
			t.Error("a registry without a version was accepted")
		}
	})
}
