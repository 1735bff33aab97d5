package ofi

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// structures has, for each mirrored structure, its C name and "field C-field" pairs.
var structures = []struct {
	of     reflect.Type
	name   string
	fields string
}{
	{reflect.TypeFor[info](), "fi_info", "next next caps caps mode mode addressFormat addr_format " +
		"sourceLen src_addrlen destLen dest_addrlen source src_addr dest dest_addr handle handle tx tx_attr rx rx_attr ep ep_attr " +
		"domain domain_attr fabric fabric_attr nic nic"},
	{reflect.TypeFor[txAttr](), "fi_tx_attr", "opFlags op_flags"},
	{reflect.TypeFor[epAttr](), "fi_ep_attr", "kind type maxMessage max_msg_size"},
	{reflect.TypeFor[domainAttr](), "fi_domain_attr", "threading threading mrMode mr_mode"},
	{reflect.TypeFor[fabricAttr](), "fi_fabric_attr", "fabric fabric name name provider prov_name " +
		"providerVersion prov_version apiVersion api_version"},
	{reflect.TypeFor[fid](), "fid", "class fclass context context ops ops"},
	{reflect.TypeFor[fidOps](), "fi_ops", "size size close close bind bind control control"},
	{reflect.TypeFor[fabricObject](), "fid_fabric", "fid fid ops ops"},
	{reflect.TypeFor[fabricOps](), "fi_ops_fabric", "size size domain domain"},
	{reflect.TypeFor[domainObject](), "fid_domain", "fid fid ops ops mr mr"},
	{reflect.TypeFor[domainOps](), "fi_ops_domain", "size size openAV av_open openCQ cq_open endpoint endpoint"},
	{reflect.TypeFor[mrOps](), "fi_ops_mr", "size size register reg"},
	{reflect.TypeFor[mrObject](), "fid_mr", "fid fid descriptor mem_desc key key"},
	{reflect.TypeFor[avAttr](), "fi_av_attr", "kind type contextBits rx_ctx_bits count count perNode ep_per_node " +
		"name name mapAddr map_addr flags flags"},
	{reflect.TypeFor[avObject](), "fid_av", "fid fid ops ops"},
	{reflect.TypeFor[avOps](), "fi_ops_av", "size size insert insert"},
	{reflect.TypeFor[cqAttr](), "fi_cq_attr", "size size flags flags format format wait wait_obj " +
		"signalingVector signaling_vector waitCondition wait_cond waitSet wait_set"},
	{reflect.TypeFor[cqObject](), "fid_cq", "fid fid ops ops"},
	{reflect.TypeFor[cqOps](), "fi_ops_cq", "size size read read readFrom readfrom readError readerr wait sread " +
		"waitFrom sreadfrom signal signal"},
	{reflect.TypeFor[cqError](), "fi_cq_err_entry", "context op_context flags flags length len buffer buf data data " +
		"tag tag overflow olen err err provider prov_errno errData err_data errDataSize err_data_size"},
	{reflect.TypeFor[epObject](), "fid_ep", "fid fid ops ops cm cm message msg rma rma tagged tagged atomic atomic"},
	{reflect.TypeFor[cmOps](), "fi_ops_cm", "size size setName setname getName getname"},
	{reflect.TypeFor[rmaOps](), "fi_ops_rma", "size size read read readV readv readMessage readmsg write write"},
	{reflect.TypeFor[atomicOps](), "fi_ops_atomic", "size size write write writeV writev writeMessage writemsg " +
		"inject inject fetch readwrite fetchV readwritev fetchMessage readwritemsg compare compwrite"},
}

// constants has the numbers and what C calls them.
var constants = map[string]uint64{
	"FI_VERSION(1, 17)": apiVersion, "FI_RMA": capRMA, "FI_ATOMIC": capAtomic, "FI_READ": accessRead,
	"FI_WRITE": accessWrite, "FI_RECV": bindReceive, "FI_TRANSMIT": bindTransmit, "FI_REMOTE_READ": remoteRead,
	"FI_REMOTE_WRITE": remoteWrite, "FI_NUMERICHOST": numericHost, "FI_SOURCE": asSource,
	"FI_COMPLETION": flagCompletion, "FI_DELIVERY_COMPLETE": flagDelivered, "FI_CONTEXT": modeContext,
	"FI_CONTEXT2": modeContext2, "FI_MR_LOCAL": mrLocal, "FI_MR_VIRT_ADDR": mrVirtualAddr,
	"FI_MR_ALLOCATED": mrAllocated, "FI_MR_PROV_KEY": mrProviderKey, "FI_EP_RDM": epRDM,
	"FI_THREAD_SAFE": threadSafe, "FI_WAIT_UNSPEC": waitUnspecified, "FI_CQ_FORMAT_CONTEXT": cqFormatContext,
	"FI_ENABLE": controlEnable, "FI_UINT32": datatypeUint32, "FI_UINT64": datatypeUint64,
	"sizeof(struct fi_context2)": contextSize, "FI_EAVAIL": errorAvailable, "FI_ENOKEY": errorKeyRequired,
	"FI_EINTR": eInterrupted, "FI_EAGAIN": eAgain, "FI_SUM": fiSum, "FI_BOR": fiOr, "FI_BAND": fiAnd,
	"FI_BXOR": fiXor, "FI_ATOMIC_WRITE": fiWrite, "FI_CSWAP": fiCSwap, "FI_AV_UNSPEC": 0,
}

// The C compiler is asked where everything lies.
func TestLayout(t *testing.T) {
	if _, err := os.Stat("/usr/include/rdma/fi_domain.h"); err != nil {
		t.Skip("SKIPPED: package libfabric-dev isn't installed, so that the layouts are compared with nothing")
	}
	var source, want strings.Builder
	source.WriteString("#include <stddef.h>\n#include <stdio.h>\n#include <rdma/fabric.h>\n")
	for _, h := range []string{"atomic", "cm", "domain", "endpoint", "eq", "errno", "rma"} {
		fmt.Fprintf(&source, "#include <rdma/fi_%s.h>\n", h)
	}
	source.WriteString("int main(void) {\n")
	for _, s := range structures {
		names := strings.Fields(s.fields)
		fields := 0
		for f := range s.of.Fields() {
			if f.Name != "_" {
				fields++
			}
		}
		if len(names) != 2*fields {
			t.Fatalf("%d of %d fields of %s are compared", len(names)/2, fields, s.of)
		}
		for i := 0; i < len(names); i += 2 {
			f, ok := s.of.FieldByName(names[i])
			if !ok {
				t.Fatalf("%s has no %s", s.of, names[i])
			}
			c := fmt.Sprintf("struct %s, %s", s.name, names[i+1])
			fmt.Fprintf(&source, "printf(\"%s: %%zu+%%zu\\n\", offsetof(%s), sizeof(((struct %s*)0)->%s));\n",
				c, c, s.name, names[i+1])
			fmt.Fprintf(&want, "%s: %d+%d\n", c, f.Offset, f.Type.Size())
		}
	}
	for name, value := range constants {
		fmt.Fprintf(&source, "printf(\"%s: %%llu\\n\", (unsigned long long)(%s));\n", name, name)
		fmt.Fprintf(&want, "%s: %d\n", name, value)
	}
	source.WriteString("}\n")
	dir := t.TempDir()
	file, program := filepath.Join(dir, "layout.c"), filepath.Join(dir, "layout")
	if err := os.WriteFile(file, []byte(source.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("gcc", "-o", program, file).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	out, err := exec.Command(program).Output()
	if err != nil {
		t.Fatal(err)
	}
	got, wanted := strings.Split(string(out), "\n"), strings.Split(want.String(), "\n")
	for i := range max(len(got), len(wanted)) {
		if i >= len(got) || i >= len(wanted) || got[i] != wanted[i] {
			t.Errorf("C: %q, here: %q", got[i:min(i+1, len(got))], wanted[i:min(i+1, len(wanted))])
		}
	}
}

// A function whose slot lies behind the end of its table, or is empty, is absent.
func TestLookup(t *testing.T) {
	table := [4]uintptr{3 * 8, 0, 7, 8}
	for i, there := range []bool{1: false, 2: true, 3: false} {
		if i == 0 {
			continue
		}
		f, err := lookup(reflect.ValueOf(&table).UnsafePointer(), uintptr(i)*8, "f")
		if (err == nil) != there || there && f != 7 {
			t.Errorf("slot %d: %d, %v", i, f, err)
		}
	}
	if _, err := lookup(nil, 8, "f"); err == nil {
		t.Error("a table that isn't there has functions")
	}
}
