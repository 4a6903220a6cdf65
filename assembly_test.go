// SPDX-License-Identifier: Apache-2.0

package zramfs

import (
	"fmt"
	"go/ast"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// An asmFunc is one function of an assembly file: its instructions and labels, one a line, without
// comments.
type asmFunc struct {
	path, name string
	lines      []string
}

// asmFiles calls f with the text of every assembly file.
func asmFiles(t *testing.T, f func(path, text string)) {
	t.Helper()
	count := 0
	err := filepath.WalkDir("codec", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".s") {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		count++
		f(path, string(text))
		return nil
	})
	if err != nil || count == 0 {
		t.Fatalf("%d assembly files, which proves nothing: %v", count, err)
	}
}

// asmFuncs calls f with every function of the assembly files.
func asmFuncs(t *testing.T, f func(fn asmFunc)) {
	t.Helper()
	asmFiles(t, func(path, text string) {
		funcs, err := parseAsm(path, text)
		if err != nil {
			t.Error(err)
		}
		for _, fn := range funcs {
			f(fn)
		}
	})
}

// parseAsm cuts an assembly file into functions. The bodies of macros form one more, without a
// name; files for amd64, which are generated, may have none, because the flow through them could
// not be followed here.
func parseAsm(path, text string) ([]asmFunc, error) {
	funcs := []asmFunc{{path: path}}
	for line := range strings.Lines(text) {
		line, _, _ = strings.Cut(line, "//")
		for part := range strings.SplitSeq(strings.ReplaceAll(line, "\\", ";"), ";") {
			part = strings.TrimSpace(part)
			last := &funcs[len(funcs)-1]
			switch op, _, _ := strings.Cut(part, " "); op {
			case "", "#include", "#undef", "DATA", "GLOBL":
			case "#define":
				last = &funcs[0]
			case "TEXT":
				name, _, _ := strings.Cut(strings.TrimSpace(strings.TrimPrefix(part, "TEXT")), "(")
				funcs = append(funcs, asmFunc{path: path, name: name})
			default:
				last.lines = append(last.lines, strings.Join(strings.Fields(part), " "))
			}
		}
	}
	if len(funcs[0].lines) > 0 && strings.HasSuffix(path, "_amd64.s") {
		return nil, fmt.Errorf("%s: outside of a function: %s", path, funcs[0].lines[0])
	}
	return funcs, nil
}

var wideRegister = regexp.MustCompile(`\b[YZ]([0-9]|[12][0-9]|3[01])\b`)

// dirtyReturns returns the lines at which fn may return with the upper halves of vector registers
// in use, which slows older instructions of the code that runs next.
func dirtyReturns(fn asmFunc) []string {
	if !strings.HasSuffix(fn.path, "_amd64.s") {
		return nil
	}
	labels := map[string]int{}
	for i, line := range fn.lines {
		if label, ok := strings.CutSuffix(line, ":"); ok {
			labels[label] = i
		}
	}
	var found []string
	type place struct {
		line  int
		dirty bool
	}
	seen := map[place]bool{}
	for open := []place{{}}; len(open) > 0; {
		p := open[len(open)-1]
		if open = open[:len(open)-1]; seen[p] || p.line >= len(fn.lines) {
			continue
		}
		seen[p] = true
		line := fn.lines[p.line]
		op, operand, _ := strings.Cut(line, " ")
		dirty := op != "VZEROUPPER" && (p.dirty || wideRegister.MatchString(operand))
		target, local := labels[operand]
		if dirty && (op == "RET" || op == "CALL" || op == "JMP" && !local) {
			found = append(found, line)
		}
		if local && strings.HasPrefix(op, "J") {
			open = append(open, place{target, dirty})
		}
		if op != "RET" && op != "JMP" {
			open = append(open, place{p.line + 1, dirty})
		}
	}
	return found
}

func TestF032VectorRegistersAreLeftClean(t *testing.T) {
	asmFuncs(t, func(fn asmFunc) {
		for _, line := range dirtyReturns(fn) {
			t.Errorf("%s: %s may leave by %s without VZEROUPPER", fn.path, fn.name, line)
		}
	})
}

// dirtyReturns finds planted faults.
func TestDirtyReturnsAreFound(t *testing.T) {
	for name, test := range map[string]struct {
		body string
		want int
	}{
		"clean":           {"VPXOR Y0, Y0, Y0; VZEROUPPER; MOVB $0x01, ret+24(FP); RET", 0},
		"narrow":          {"VPXOR X0, X0, X0; RET", 0},
		"missing":         {"VPXOR Y0, Y0, Y0; RET", 1},
		"wide":            {"VPXORQ\tZ31, Z31, Z31 // a comment; RET", 1},
		"jumped past":     {"VMOVDQU (AX), Y7; JNE done; VZEROUPPER; done:; RET", 1},
		"one of two":      {"VMOVDQU (AX), Y7; JNE done; VZEROUPPER; RET; done:; RET", 1},
		"both":            {"VMOVDQU (AX), Y7; JNE odd; VZEROUPPER; JMP done; odd:; VZEROUPPER; done:; RET", 0},
		"before any use":  {"TESTQ AX, AX; JEQ done; VMOVDQU (AX), Y7; VZEROUPPER; done:; RET", 0},
		"a loop":          {"turn:; JEQ done; VMOVDQU (AX), Y7; JMP turn; done:; RET", 1},
		"a tail call":     {"VMOVDQU (AX), Y7; JMP ·other(SB)", 1},
		"a call":          {"VMOVDQU (AX), Y7; CALL ·other(SB); VZEROUPPER; RET", 1},
		"the other order": {"VZEROUPPER; VMOVDQU (AX), Y7; RET", 1},
	} {
		funcs, err := parseAsm("x_amd64.s", "TEXT ·f(SB), NOSPLIT, $0-8\n"+strings.ReplaceAll(test.body, "; ", "\n"))
		if err != nil || len(funcs) != 2 {
			t.Fatalf("%s: %v, %v", name, funcs, err)
		}
		if got := dirtyReturns(funcs[1]); len(got) != test.want {
			t.Errorf("%s: found %q, want %d", name, got, test.want)
		}
	}
}

// beyondAVX2 matches the registers that only machines with AVX-512 have.
var beyondAVX2 = regexp.MustCompile(`\b(Z[0-9]+|K[0-7]|[XY](1[6-9]|2[0-9]|3[01]))\b`)

// A function named for AVX2 runs on machines without AVX-512, whose instructions would end the
// process there.
func TestF024AVX2FunctionsKeepToTheirRegisters(t *testing.T) {
	seen := 0
	asmFuncs(t, func(fn asmFunc) {
		if !strings.HasSuffix(fn.name, "AVX2") {
			return
		}
		seen++
		for _, line := range fn.lines {
			if beyondAVX2.MatchString(line) {
				t.Errorf("%s: %s in %s", fn.path, line, fn.name)
			}
		}
	})
	if seen == 0 {
		t.Error("no function is named for AVX2")
	}
}

// floating matches the instructions that compute with floating-point numbers or depend on the
// floating-point mode. Those that only move or combine bits, whatever their names, cannot trap and
// are left out.
var floating = map[string]*regexp.Regexp{
	"_amd64.s": regexp.MustCompile(`^(F[A-Z0-9]+|V?(U?COMI|CVT|CMP|ADD|SUB|MUL|DIV|SQRT|MAX|MIN|RCP|RSQRT|HADD|HSUB|ADDSUB|DP|ROUND|RNDSCALE|GETEXP|GETMANT|SCALEF|FIXUPIMM|RANGE|REDUCE)[A-Z0-9]*[PS][SDH]` +
		`|V?CVT[A-Z0-9]+|VF(N?M(ADD|SUB)|PCLASS)[A-Z0-9]+|VEXP2[A-Z]+|LDMXCSR|STMXCSR|VLDMXCSR|VSTMXCSR)$`),
	"_arm64.s": regexp.MustCompile(`^(F[A-LN-Z][A-Z0-9]*|FM(ADD|SUB|UL|AX|IN)[A-Z0-9]*|VF[A-Z0-9]+|[SU]CVTF[A-Z0-9]*)$`),
}

func isFloating(path, line string) bool {
	op, _, _ := strings.Cut(line, " ")
	op, _, _ = strings.Cut(op, ".") // a suffix of AVX-512's, as in .Z
	for suffix, pattern := range floating {
		if strings.HasSuffix(path, suffix) && pattern.MatchString(op) {
			return true
		}
	}
	return false
}

// F033 to F035: NaNs, infinities and denormals cannot disturb code that never takes bytes for
// floating-point numbers.
func TestF033NoFloatingPointInAssembly(t *testing.T) {
	asmFuncs(t, func(fn asmFunc) {
		for _, line := range fn.lines {
			if isFloating(fn.path, line) {
				t.Errorf("%s: %s computes with floating-point numbers: %s", fn.path, fn.name, line)
			}
		}
	})
}

func TestFloatingPointIsTold(t *testing.T) {
	for path, ops := range map[string][2]string{
		"x_amd64.s": {"ADDSD VADDPS VMULSD VFMADD231PD VCVTDQ2PS CVTSQ2SD UCOMISD VCMPPS LDMXCSR FADDD VMAXPS VSQRTSD DIVSS VRNDSCALEPD",
			"ADDQ VPADDB VPCMPEQB VPMAXUB SUBL MULXQ VMOVUPS VXORPS VPERMPS SHRXQ CMPQ VPMINUW KMOVQ POPCNTL VPSADBW CMPXCHGL ADCXQ VPDPBUSD MOVSD VBROADCASTSS"},
		"x_arm64.s": {"FADDD FMULS FCMPD SCVTFD VFMLA FMADDD FMAXD", "ADD VADD FMOVQ FMOVD VCMEQ UMULH VUMAXV MOVD"},
	} {
		for i, list := range ops {
			for op := range strings.FieldsSeq(list) {
				if got := isFloating(path, op+" X0, X1"); got != (i == 0) {
					t.Errorf("%s: %s is floating point: %v", path, op, got)
				}
			}
		}
	}
}

// floatFiles lists where the codecs' Go may compute with floating-point numbers: on counts, never
// on the bytes of a page.
var floatFiles = map[string]string{
	"codec/pagescan/entropy.go": "logarithms of counts of bytes",
	"codec/bulk/link.go":        "speeds, in bytes a second",
	"codec/bulk/rate.go":        "speeds, of pages and seconds",
	"codec/bulk/report.go":      "speeds and shares, for people",
}

func TestF033NoFloatingPointInTheCores(t *testing.T) {
	goFiles(t, func(path string, file *ast.File, _ string) {
		if !strings.HasPrefix(path, "codec/") || strings.HasPrefix(path, "codec/_asm/") || strings.HasSuffix(path, "_test.go") || floatFiles[path] != "" {
			return
		}
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.Ident:
				if n.Name == "float32" || n.Name == "float64" {
					t.Errorf("%s: %s is not among the files that may use it", path, n.Name)
				}
			case *ast.SelectorExpr:
				if pkg, ok := n.X.(*ast.Ident); ok && pkg.Name == "math" && !integerLimit.MatchString(n.Sel.Name) {
					t.Errorf("%s: math.%s is floating point", path, n.Sel.Name)
				}
			}
			return true
		})
	})
}

// integerLimit matches the integers of package math.
var integerLimit = regexp.MustCompile(`^(Max|Min)U?[iI]nt`)

// The build tag purego leaves out every assembly file, and a program in codec/_asm generates those
// for amd64.
func TestF028AssemblyCanBeLeftOut(t *testing.T) {
	asmFiles(t, func(path, text string) {
		if !strings.Contains(text, "\n//go:build !purego\n") && !strings.HasPrefix(text, "//go:build !purego\n") {
			t.Errorf("%s is not left out with the build tag purego", path)
		}
		if strings.HasSuffix(path, "_amd64.s") && !strings.HasPrefix(text, "// Code generated by command: ") {
			t.Errorf("%s does not say which command made it", path)
		}
	})
}
