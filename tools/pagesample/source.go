// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// seed makes the generated sources the same on every run.
const seed = 20

// cSource returns a C file that keeps an optimising compiler busy for seconds.
func cSource() (map[string]string, error) {
	return map[string]string{workDir + "/orders.c": cFile(rand.New(rand.NewPCG(seed, 1)), 3000)}, nil
}

// twoSources returns two large C files that differ in every few lines.
func twoSources() (map[string]string, error) {
	const functions = 40000
	return map[string]string{
		workDir + "/old.c": cFile(rand.New(rand.NewPCG(seed, 2)), functions),
		workDir + "/new.c": cFile(rand.New(rand.NewPCG(seed, 3)), functions),
	}, nil
}

func cFile(rng *rand.Rand, functions int) string {
	var text strings.Builder
	text.WriteString("#include <stddef.h>\nstruct order { long number; double price; struct order *next; char city[24]; };\n")
	for i := range functions {
		fmt.Fprintf(&text, "double total%d(struct order *first, long limit, const int *rates)\n{\n\tdouble sum = %d;\n", i, rng.IntN(100))
		fmt.Fprintf(&text, "\tfor (struct order *o = first; o && o->number < limit + %d; o = o->next) {\n", rng.IntN(1000))
		fmt.Fprintf(&text, "\t\tswitch (o->number %% %d) {\n", 3+rng.IntN(9))
		for label := range 3 {
			fmt.Fprintf(&text, "\t\tcase %d: sum += o->price * rates[%d] + o->city[%d]; break;\n", label, rng.IntN(64), rng.IntN(24))
		}
		fmt.Fprintf(&text, "\t\tdefault: for (int k = 0; k < %d; k++) sum -= rates[k] / (o->price + %d);\n", 2+rng.IntN(30), 1+rng.IntN(9))
		text.WriteString("\t\t}\n\t}\n\treturn sum;\n}\n")
	}
	return text.String()
}

// goModule returns a module of several packages. It needs the standard library
// alone, so the go command asks no network; the packages that it imports from
// there are compiled too, because the build cache is new.
func goModule() (map[string]string, error) {
	files := map[string]string{
		workDir + "/go.mod": "module orders\n\ngo 1.21\n",
		// Otherwise the command starts a process that outlives it and its directory.
		homeDir + "/.config/go/telemetry/mode": "off 2026-01-01\n",
	}
	rng := rand.New(rand.NewPCG(seed, 4))
	var imports, calls strings.Builder
	for i := range 6 {
		name := fmt.Sprintf("part%d", i)
		files[workDir+"/"+name+"/"+name+".go"] = goFile(rng, name, 400)
		fmt.Fprintf(&imports, "\t\"orders/%s\"\n", name)
		fmt.Fprintf(&calls, "\tfmt.Println(%s.Total0(nil, 1))\n", name)
	}
	files[workDir+"/main.go"] = "package main\n\nimport (\n\t\"encoding/json\"\n\t\"fmt\"\n\t\"net/http\"\n" + imports.String() +
		")\n\nfunc main() {\n" + calls.String() + "\tfmt.Println(http.StatusText(200), json.Valid(nil))\n}\n"
	return files, nil
}

func goFile(rng *rand.Rand, name string, functions int) string {
	var text strings.Builder
	fmt.Fprintf(&text, "package %s\n\nimport \"strings\"\n\ntype Order struct {\n\tNumber int\n\tPrice float64\n\tCity string\n\tLines map[string]int\n}\n", name)
	for i := range functions {
		fmt.Fprintf(&text, "\nfunc Total%d(orders []Order, limit int) (sum float64, names []string) {\n", i)
		fmt.Fprintf(&text, "\tfor i, order := range orders {\n\t\tif order.Number > limit+%d {\n\t\t\tcontinue\n\t\t}\n", rng.IntN(1000))
		fmt.Fprintf(&text, "\t\tswitch i %% %d {\n\t\tcase 0:\n\t\t\tsum += order.Price * %d\n", 2+rng.IntN(7), rng.IntN(90))
		fmt.Fprintf(&text, "\t\tcase 1:\n\t\t\tnames = append(names, strings.ToUpper(order.City)+\"%d\")\n", rng.IntN(500))
		fmt.Fprintf(&text, "\t\tdefault:\n\t\t\tfor line, count := range order.Lines {\n\t\t\t\tif strings.HasPrefix(line, \"item%d\") {\n\t\t\t\t\tsum += float64(count)\n\t\t\t\t}\n\t\t\t}\n\t\t}\n", rng.IntN(50))
		text.WriteString("\t}\n\treturn sum, names\n}\n")
	}
	return text.String()
}
