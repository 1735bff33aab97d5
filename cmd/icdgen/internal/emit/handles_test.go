package emit

import (
	"os"
	"strings"
	"testing"

	"farside/cmd/icdgen/internal/registry"
)

// handleRegistry is mini.xml with object types, a structure that has handles, and commands that take them.
func handleRegistry(t *testing.T, member string) *registry.Registry {
	t.Helper()
	data, err := os.ReadFile("../registry/testdata/mini.xml")
	if err != nil {
		t.Fatal(err)
	}
	doc := string(data)
	for _, c := range []struct{ at, with string }{
		{`<type category="handle"><type>VK_DEFINE_HANDLE</type>(<name>VkInstance`,
			`<type category="handle" objtypeenum="VK_OBJECT_TYPE_INSTANCE"><type>VK_DEFINE_HANDLE</type>(<name>VkInstance`},
		{`parent="VkPhysicalDevice"><type>`, `parent="VkPhysicalDevice" objtypeenum="VK_OBJECT_TYPE_DEVICE"><type>`},
		{`parent="VkDevice"><type>`, `parent="VkDevice" objtypeenum="VK_OBJECT_TYPE_THING"><type>`},
		{`<type category="struct" name="VkHandleInfoWIN32">`, `<type category="struct" name="VkUseInfo">
			<member values="VK_STRUCTURE_TYPE_USE_INFO"><type>VkStructureType</type> <name>sType</name></member>
			<member optional="true">const <type>void</type>* <name>pNext</name></member>
			<member><type>uint32_t</type> <name>count</name></member>
			<member optional="false,true" len="count">const <type>VkThing</type>* <name>pThings</name></member>` + member + `
		</type><type category="struct" name="VkHandleInfoWIN32">`},
		{"<commands>", `<commands>
			<command><proto><type>VkResult</type> <name>vkUseThing</name></proto>
				<param><type>VkDevice</type> <name>device</name></param>
				<param optional="true"><type>VkThing</type> <name>thing</name></param>
				<param>const <type>VkUseInfo</type>* <name>pInfo</name></param>
				<param><type>VkThing</type>* <name>pOther</name></param></command>
			<command><proto><type>void</type> <name>vkDestroyThing</name></proto>
				<param><type>VkDevice</type> <name>device</name></param>
				<param optional="true"><type>VkThing</type> <name>thing</name></param>
				<param>const <type>uint32_t</type>* <name>pAllocator</name></param></command>`},
		{`<command name="vkGetThing"/>`,
			`<command name="vkGetThing"/><command name="vkUseThing"/><command name="vkDestroyThing"/>`},
		{`<enum value="0" name="VK_STRUCTURE_TYPE_THING_INFO"/>`,
			`<enum value="0" name="VK_STRUCTURE_TYPE_THING_INFO"/><enum value="77" name="VK_STRUCTURE_TYPE_USE_INFO"/>`},
	} {
		if !strings.Contains(doc, c.at) {
			t.Fatalf("mini.xml has no %s", c.at)
		}
		doc = strings.Replace(doc, c.at, c.with, 1)
	}
	reg, err := registry.Parse(strings.NewReader(doc))
	if err != nil {
		t.Fatal(err)
	}
	return reg
}

const handleSources = `package icd
var commands = cabi.Commands{UseThing: vkUseThing, DestroyThing: vkDestroyThing}
var things = handle.NewTable[thing](1, "VkThing")
var (
	devices = handle.NewDispatchable[device]("VkDevice")
	other   = make([]int, 3)
)`

func TestReadDriver(t *testing.T) {
	d, err := ReadDriver(map[string][]byte{
		"a.go": []byte(handleSources), "a_test.go": []byte("no Go"), "zz_generated_x.go": []byte("no Go"),
		"b.go": []byte("package icd\nvar x = vk.Find[vk.Chained](nil)\n"),
	}, []string{"UseThing"})
	if err != nil {
		t.Fatal(err)
	}
	want := []Table{{"VkDevice", "devices", "device"}, {"VkThing", "things", "thing"}}
	if len(d.Tables) != 2 || d.Tables[0] != want[0] || d.Tables[1] != want[1] {
		t.Errorf("tables %+v, want %+v", d.Tables, want)
	}
	if len(d.Checked) != 2 || !d.Uses["Chained"] || d.Uses["Unused"] {
		t.Errorf("checked %q, uses %v", d.Checked, d.Uses)
	}
}

func TestHandles(t *testing.T) {
	vuids, err := ReadVUIDs(strings.NewReader(`VUID-vkUseThing-device-parameter
VUID-vkUseThing-thing-parameter
VUID-vkUseThing-commonparent
VUID-VkUseInfo-pThings-parameter
VUID-VkUseInfo-pThings-parent
VUID-vkDestroyThing-device-parameter
VUID-vkDestroyThing-thing-parameter
`))
	if err != nil {
		t.Fatal(err)
	}
	driver, err := ReadDriver(map[string][]byte{"a.go": []byte(handleSources)}, []string{"UseThing", "DestroyThing"})
	if err != nil {
		t.Fatal(err)
	}
	files, err := Handles(handleRegistry(t, ""), driver, vuids)
	if err != nil {
		t.Fatal(err)
	}
	code, tests := squeeze(string(files[0].Data)), squeeze(string(files[1].Data))
	for _, want := range []string{
		// Nothing is handed out unless the command succeeds.
		"func vkUseThing(device vk.Device, thing vk.Thing, pInfo *vk.UseInfo, pOther *vk.Thing) vk.Result { *pOther = 0",
		`deviceObject := devices.Get(uintptr(device)) if deviceObject == nil { return refuseFirst("vkUseThing", ` +
			`vk.OBJECT_TYPE_DEVICE, uint64(device), RULE_vkUseThing_device_parameter) }`,
		// An optional parameter of the device's.
		"if thing != 0 && (thingObject == nil || thingObject.owner() != deviceObject) {",
		"thingObject != nil, RULE_vkUseThing_thing_parameter, RULE_vkUseThing_commonparent)",
		// An array whose elements may be VK_NULL_HANDLE.
		"for _, h := range vk.Slice(s1.PThings, s1.Count) { if o := things.Get(uint64(h)); h != 0 && " +
			"(o == nil || o.owner() != deviceObject) {",
		"o != nil, RULE_VkUseInfo_pThings_parameter, RULE_VkUseInfo_pThings_parent)",
		// Observers come after the checks.
		`if observers.Load() != nil { return observe("vkUseThing", []any{deviceObject, thingObject, pInfo, pOther}, ` +
			`func() vk.Result { return useThing(deviceObject, thingObject, pInfo, pOther) }) } ` +
			`return useThing(deviceObject, thingObject, pInfo, pOther) }`,
		`observeVoid("vkDestroyThing", []any{deviceObject, thingObject, pAllocator}, ` +
			`func() { if thing != 0 && !deviceObject.end(thingObject) {`,
		// A rule that doesn't exist is not named.
		"thingObject != nil, RULE_vkDestroyThing_thing_parameter, RULE_vkDestroyThing_thing_parameter)",
		"if thing != 0 && !deviceObject.end(thingObject) {",
		"func (*thing) objectType() vk.ObjectType { return vk.OBJECT_TYPE_THING }",
	} {
		if !strings.Contains(code, strings.ReplaceAll(want, "RULE_", named)) {
			t.Errorf("%s lacks %q", files[0].Path, want)
		}
	}
	for _, want := range []string{
		`{"pInfo.pThings", vk.OBJECT_TYPE_THING, true, true, RULE_VkUseInfo_pThings_parameter, ` +
			`RULE_VkUseInfo_pThings_parent}`,
		"t0.Count = 1",
	} {
		if !strings.Contains(tests, strings.ReplaceAll(want, "RULE_", named)) {
			t.Errorf("%s lacks %q", files[1].Path, want)
		}
	}

	by := `<member noautovalidity="true"><type>VkThing</type> <name>special</name></member>`
	if _, err := Handles(handleRegistry(t, by), driver, vuids); err == nil ||
		!strings.Contains(err.Error(), "VkUseInfo.special: the registry has no rules for it") {
		t.Errorf("a member without rules: %v", err)
	}
	driver.Checked = driver.Checked[1:]
	if _, err := Handles(handleRegistry(t, ""), driver, vuids); err == nil ||
		!strings.Contains(err.Error(), "UseThing: its handles are not checked") {
		t.Errorf("a command without an entry: %v", err)
	}
}
