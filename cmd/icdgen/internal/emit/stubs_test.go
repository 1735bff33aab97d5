package emit

import (
	"slices"
	"strings"
	"testing"

	"farside/cmd/icdgen/internal/registry"
)

// stubFiles prints the stubs of recordingRegistry's commands by architecture, one instruction after the other.
func stubFiles(t *testing.T, supported, ops []string) map[string]string {
	t.Helper()
	reg := recordingRegistry(t)
	add := func(name string, params ...*registry.Decl) {
		params = append([]*registry.Decl{{Name: "commandBuffer", Type: "VkDevice"}}, params...)
		reg.Commands = append(reg.Commands, &registry.Command{Name: name, Result: registry.Decl{Type: "void"},
			Params: params})
	}
	add("vkCmdPipelineBarrier")
	add("vkCmdRun", &registry.Decl{Name: "count", Type: "uint32_t"},
		&registry.Decl{Name: "pDevices", Type: "VkDevice", Pointer: 1, Len: "count"})
	things := &registry.Decl{Name: "pThings", Type: "VkThing", Pointer: 1, Len: "count"}
	add("vkCmdTwo", &registry.Decl{Name: "count", Type: "uint32_t"}, things,
		&registry.Decl{Name: "wordCount", Type: "uint32_t"},
		&registry.Decl{Name: "pWords", Type: "uint32_t", Pointer: 1, Len: "wordCount"})
	add("vkCmdSwapped", &registry.Decl{Name: "wordCount", Type: "uint32_t"},
		&registry.Decl{Name: "pWords", Type: "uint32_t", Pointer: 1, Len: "wordCount"},
		&registry.Decl{Name: "count", Type: "uint32_t"}, things)
	add("vkCmdMany", &registry.Decl{Name: "a", Type: "VkThing"}, &registry.Decl{Name: "b", Type: "VkThing"},
		&registry.Decl{Name: "c", Type: "VkThing"}, &registry.Decl{Name: "pValue", Type: "VkValue", Pointer: 1},
		&registry.Decl{Name: "count", Type: "uint32_t"}, things, &registry.Decl{Name: "format", Type: "VkFormat"})
	files, err := CABI(reg, supported, ops)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for _, f := range files {
		if name, ok := strings.CutPrefix(f.Path, "internal/cabi/zz_generated_stubs_"); ok {
			out[name] = squeeze(string(f.Data))
		}
	}
	return out
}

func TestRecordingStubs(t *testing.T) {
	files := stubFiles(t, []string{"CmdMany", "CmdData", "CmdThing", "CmdMove", "CmdRun", "CmdTwo", "CmdSwapped",
		"CmdPipelineBarrier"},
		[]string{"Data", "Many", "Move", "Run", "Two", "Swapped"})
	for _, test := range []struct{ file, want string }{
		// Data is op 1. Its number must still be in AX when the stub gives up.
		{"amd64.s", "JMP recordData<>(SB)"},
		{"amd64.s",
			"TEXT recordData<>(SB), NOSPLIT|NOFRAME, $0 MOVQ ·commandBuffers(SB), R10 MOVQ DI, R11 SUBQ slab_Base(R10), R11 " +
				"CMPQ R11, slab_Size(R10) JCC slow TESTQ $63, R11 JNE slow LEAQ -4096(DX), R11 SHRQ $47, R11 JNE slow " +
				"MOVQ SI, R11 LEAQ -1(R11), R10 CMPQ R10, $4096 JCC slow TESTQ $3, R11 JNE slow ADDQ $23, R11 ANDQ $~7, R11"},
		{"amd64.s", "ORQ $1, R11 MOVQ R11, (R10) PREFETCHT0 3072(R10)"},
		// Many is op 2: its last two arguments are on the stack.
		{"amd64.s", "MOVQ 8(SP), R11 LEAQ -4096(R11), R11"},
		{"amd64.s", "MOVL 16(SP), AX MOVQ AX, 40(R10)"},
		{"amd64.s", "MOVQ 0(R8), AX MOVQ AX, 48(R10)"},
		{"amd64.s", "MOVQ 8(SP), R11 MOVL R9, DI IMUL3Q $8, DI, DI ADDQ $56, R10 copy:"},
		{"arm64.s", "B recordMany<>(SB)"},
		{"arm64.s", "SUB $4096, R6, R11 LSR $48, R11, R11 CBNZ R11, slow"},
		{"arm64.s", "MOVWU R7, R11 MOVD R11, 40(R10)"},
		{"arm64.s", "ADD $2, R12, R12 MOVD R12, (R10) PRFM 3072(R10), PSTL1KEEP"},
		// The second array of Two, which is op 5, may be empty, and its pointer anything then.
		{"amd64.s", "MOVL CX, R11 TESTQ R11, R11 JEQ empty LEAQ -4096(R8), R11 SHRQ $47, R11 JNE slow empty: MOVL SI, R11"},
		{"amd64.s", "MOVL CX, R10 CMPQ R10, $1024 JHI slow IMUL3Q $4, R10, R10 ADDQ R10, R11 ADDQ $31, R11 ANDQ $~7, R11"},
		{"amd64.s", "tail: MOVL CX, DI IMUL3Q $4, DI, DI copy2: SUBQ $8, DI JLT tail2"},
		{"arm64.s", "MOVWU R3, R11 CBZ R11, empty SUB $4096, R4, R11 LSR $48, R11, R11 CBNZ R11, slow empty: MOVWU R1, R13"},
		{"arm64.s", "tail: MOVD R15, R13 copy2: SUBS $8, R13, R13 BLT tail2"},
		// A barrier only looks whether the command buffer is being recorded.
		{"amd64.s", "TEXT recordPipelineBarrier<>(SB), NOSPLIT|NOFRAME, $0 MOVQ ·commandBuffers(SB), R10 MOVQ DI, R11 " +
			"SUBQ slab_Base(R10), R11 CMPQ R11, slab_Size(R10) JCC slow TESTQ $63, R11 JNE slow " +
			"CMPQ 8(DI), $0 JEQ slow RET slow: JMP farside_entry(SB)"},
		{"arm64.s", "MOVD 8(R0), R10 CBZ R10, slow RET slow: B farside_entry(SB)"},
	} {
		if !strings.Contains(files[test.file], test.want) {
			t.Errorf("%s lacks %q:\n%s", test.file, test.want, files[test.file])
		}
	}
	for name, file := range files {
		// Thing isn't an op; Move leaves a barrier out, Run names command buffers, the first array of Swapped has elements of
		// half a word.
		for _, op := range []string{"Thing", "Move", "Run", "Swapped"} {
			if strings.Contains(file, "record"+op+"<>") {
				t.Errorf("%s: vkCmd%s has a recording stub", name, op)
			}
		}
		if n := strings.Count(file, "PCALIGN"); n != 1+8 {
			t.Errorf("%s: %d places in the table, want the unused one and those of 8 commands", name, n)
		}
	}
}

func TestRecordingStubsNeedSupport(t *testing.T) {
	files := stubFiles(t, []string{"CmdData"}, []string{"Data", "Many"})
	for name, file := range files {
		if !strings.Contains(file, "recordData<>") || strings.Contains(file, "recordMany<>") ||
			strings.Contains(file, "recordPipelineBarrier<>") {
			t.Errorf("%s has stubs of commands that are not supported:\n%s", name, file)
		}
	}
}

func TestRecordingStubsReject(t *testing.T) {
	_, err := CABI(recordingRegistry(t), nil, []string{"NoSuch"})
	if err == nil || !slices.Contains(strings.Fields(err.Error()), "NoSuch:") {
		t.Errorf("an unknown op: %v", err)
	}
}
