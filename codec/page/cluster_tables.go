// SPDX-License-Identifier: Apache-2.0

package page

import "sync"

// clusterLengths holds the lengths of the codes of clusters as codeLengths does those of
// single pages. They were trained on clusters of five programs (python, gcc, java, awk and
// git), are part of the format and never change.
var clusterLengths = [segments][]string{
	{ // tokens
		"a788688aaaaaa6aa83aaa7aaa8aaaaa7aaaaa8a5a3aaa5a8598a7a8a7a5a78aa" +
			"6aaaaaaaaaaa7aaaaaaa87a87aaaa7aa7aaa6a8a5a8aaaaaa7aa7a7aaaaaa8aa" +
			"a7aa8aaa8aaaa7aaaaa8a8aaaaa8aaaaaaa8aaa8a8aaa8aaa6aaaa8aaaaaaaaa" +
			"a7aa6a8a8aaaaaaaa6aa7aaaaa8aaa8aa87aaaaaaa8aaa8aaaa8aaaaaa8aaaa6",
		"a6aa5aaaaa7aaaaaa5aaa7aaaaaaa7aaaaaaa5aaa3aaa5aaaaaaaaaa6a5aaaaa" +
			"4aaaaaaaaaaa77aaaaaa77a66aaaaaaaaaaa4aaa6a7aaaaaa6aa6aaaaaaaa7aa" +
			"a6aaaaaaa87aa6aaaaaaa7aaaaaaaaaaaaa8aaaaaaaaaaaaa77aaaa7aaa7aaaa" +
			"aaaa7aaa7aaaaaaaaaaa7aaaaaaaaaaaa6aaaaaaaa6aaaaaaaaaaaaaaaaaaaa4",
		"aaaa7a77aa7aa7aaa4aaa6aaa7aaaaa7aaaaa7a8a3aaa5aa5aaa5a6a6a5aa7aa" +
			"aaaaaaaaaaaaaaaaaaaa77aa6aaaa6aa6aaa5aaa5aaaaaaaa6aa7a7aa7aaaaaa" +
			"a6aa7aaaaaaaa6aaaaa7aaaaaaa6aaaaaaa7aaaaaaaaaaaaa5aaaa6aaaaaaaaa" +
			"aaaa5aaa7aaaaaaaa6aa7aaa7aaaaaaaaa7aaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
		"a7aa6a67aaaaaaaa64aaaaaaaaaaaaaaaaaaa7aaa2aaa5aa5aaa5a6a5a6aa7aa" +
			"aaaaaaaaaaaaaaaaaaaaaaa77aaaaaaa7aa66aaa7aaaaaaaa6aaaaaaaaaaaaaa" +
			"aaaaaaaa7aaaaaaaaaa7aaaaaaaaaaaaaaaaaaaaaaaaaaaaa6aaaa7aaaaaaaaa" +
			"7aaa5aaaaaaaaaaaa6aa6aaaaaaaaaaaaa6aaaaaaaaaaa77aaa7aa8aaa7aaaaa",
		"a5aaaaaaaaaaa5aaa5aaaaaaa6aa6aaaaaaaaaa3a4aa66a6464aa69aaaaa5aaa" +
			"aaaaaaaaaaaa6aaaaaaaa6aaa7aaaaaaaaaaaa6a7aaaaaaaaaaaaaaaaaaaaaaa" +
			"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa6aaa7aaaaaaaaaaaaaa" +
			"a4aa5a6a78aa7aaaaaaaaaa7aaaaaa9aaa7aaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
		"aaaa3aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa" +
			"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa2aaaaaaaaaaaaaaaaaaaaaaaaaaa" +
			"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa" +
			"aaaaaaaaaaaaaaaaaaaaaaaaaa8aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa3aa9a2",
		"aaaa3aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa" +
			"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa2aaaaaaaaaaaaaaaaaaaaaaaaaaa" +
			"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa" +
			"aaaaaaaaaaaaaaaaaaaaaaaaaa8aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa3aa9a2",
	},
	{ // literals
		"4455666767868888688998898999999969999aaa79a999997999999989999aa9" +
			"49999a9989aaa9aa7aaaaaaa8aaaaaa969a9a9aa89aaaaa97a999aaa8aaaaaa9" +
			"5aaaaaaa7aaaaaaa7aaaaaaa8aaaaaaa69999aaa8aaaaaaa7aaaaaaa7aaaaaa9" +
			"5aaaaaaa8aaaaaa968899aaa8aaaaaa96aaaaaaa8aa999997999999978887765",
		rawLengths,
		"43555666688889885888898999aaaaaa59999aaaaa9888997899999999aaaaa9" +
			"6aa99aaaaaaaaa9a7aaaaaaaa9aaaaa9789aa9aaaaaaaaa97a9a99aaaaaaaaaa" +
			"7aaaa9aaaaaaaaaa6aaaaaaaaaaaaaaa7aaaaaaaaaaaaaaa5aaaaaaaaaaaaaaa" +
			"7aaaaaaaaaaaaaaa79aaaaaaaaaaaaaa5aaaaaaaaa9989995aa9a99888777665",
		"54446577687888a8598999a979a99a997999aa9a7aaaaa9a6aaaaaaa8aa89999" +
			"6aaaaaaa8aaaaaaa7aaaaaaa7aaaaa996aa9aaaa7aaaaaa97aaaaaaa8aaaaa99" +
			"7aaaaaa94aaaaaaa7aaaaaaa7aaaa8a97aaaaaa97aaaaaa98aaaaaa96aaaaaa9" +
			"7a9aa9a97aaaaaaa7aaaaaaa8aa9aa997aaaaaaa7aaaaaaa8aa999a867876665",
		"43566aa656aaaaaa5aaaa7aa7aaaaaaa5aaaaaaa5aaaaaaa7aaaaaaa7aaaaaaa" +
			"5aaaaaaa7aaaaaaa6aaaaaaa7aaaaaaa4aaaaaaa7aaaaaaa6aaaaaaa7aaaaaaa" +
			"6aaaaaaaaaaaaaaa7aaaaaaaaaaaaaaa6aaaaaaaaaaaaaaa6aaaaaaa9aaaaaaa" +
			"5aaaaaaaaaaaaaaa4aaaaaaaaaaaaaaa6aaaaaaa7aaaaaaa7aaaaaaaaaaaaaa7",
		"3456755888758aaa88aaa87aaaaaaaaa687aaaaaaaaaaaaa7a8a9aaa8aaaaaaa" +
			"4aaaaaaaaaaaa7aaaaaaaaaaaaaaaaaa7aaaaaaaaaaaaaaa8aaaaaaaaaaaaaaa" +
			"3aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa7aaaaaaaaaaaaaaa8aaaaaaaaaaaaaaa" +
			"4aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa7aaaaaaaaaaaaaaa8aaaaaaa88888765",
		"53567a77767aaaaa7aaaaaaa6aaaaaaa6aaaaaaa6aaaaaaa6aaaa6aaaaaaaaaa" +
			"5aaaaaaa5aaaaaaa6aaaaaaa6aaaaaaa5aaaaaaa5aaaaaaa6aaaaaaaaaaaaaaa" +
			"6aaaaaaa7aaaaaaa4aaaaaaaaaaaaaaa5aaaaaaa7aaaaaaa6aaaaaaa7aaaaaaa" +
			"6aaaaaaa9aaaaaaa5aaaaaaa5aaaaaaa6aaaaaaaaaaaaaaa7aaaaaaa8aaaaaa6",
	},
	{ // near bytes
		"5aa587758576aaa5aaa7aaa6aaa7aaa48777aaa6aaa7aaa5aaa8aaa7aaaaaaa5" +
			"65767775867777a68a77a8a6aa88aaa7a8a8aaa7aa88aaa7aaa8aaa77a8a8aa7" +
			"aaaaaaa76aaaaa88aaaaaaa7aaaaaaa8aa9aaaa8aaaaaaa8aaaaaaa88aaaaaaa" +
			"aaaaaaa8aaaaaaa8aaaaaaa8a8aaaaaaaaaaaaa7aaaaaaa8aaaaaaa8aaaaaaaa",
		"5aaaa755a245aaaaaaaaaaaaaaaaaaa4844aaaaaaaaaaaa4aaaaaaaaaaaaaaaa" +
			"aaaaaaaaa5aaa5aaaaa9aaaaaaaaaaaaaaaaaaaaaaaaaaa9aaaaaaaaaaaaaaaa" +
			"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa" +
			"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
		"5aaaaaa4aaaaaaa4aaaaaaaaaaaaaaa5aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa4" +
			"a6a6a6a4aaa9aaa5aaaaaaa4aaaaaaa6aaaaaaa5aaa6aaa6aaaaaaa5aaaaaaa6" +
			"aaaaaaa6aaaaaaa6aaaaaaa5aaaaaaa6aaaaaaa6aaaaaaaaaaaaaaa6aaaaaaaa" +
			"aaaaaaa6aaaaaaa7aaaaaaa6aaaaaaaaaaaaaaa5aaaaaaa6aaaaaaa8aaaaaaaa",
		"4aa4aaa5aaa5aaa5aaa6aaa5aaa5aaa3aaa9aaa9aaa5aaa4aaaaaaaaaaaaaaa5" +
			"a5a5aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa5aaa5aaa" +
			"aaaaaaaa4aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa" +
			"aaaaaaaaaaaaaaaaaaaaaaaaa5aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
	},
	{ // the low bytes of far words
		"368aaaaa7aaaaaaa6aaaaaaa7aaaaaaa6aaaaaaa7aaaaaaa6aaaaaaa7aaaaaa9" +
			"47778aaa78778aaa6aaaaaaa7aaaaaa958668aaa7aaaaaa86aaaaaaa7aaaaa87" +
			"478aaaaa7aaaaaa96aaaaaaa7aaaaaaa6aaaaaaa7aaaaaa868aaaaaa7aaaaaa8" +
			"489aaaaa7aaaaaaa6aaaaaaa7aaaaaaa6aaaaaaa7aaaaaaa6aaaaaaa7aaaaaa7",
		rawLengths,
	},
	{ // the high bytes of far words
		"35666654554555665666666669966a8a6aaaaaaaaaaa7aaaaaaaaaaaaaaaaaaa" +
			"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa" +
			"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa" +
			"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
		rawLengths,
		"16aaaaaaa876aaaaaa6566677aa77aaaaaaaaaaaaaa957769776aaaaaaaaaaaa" +
			"aaaaaa7aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa" +
			"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa" +
			"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
	},
}

const lengthsLengths = "3aaaa544333aaaaa5aaaaaaaa94aaaaa7aaaaaaaaa9aaaaaaaaaaaaaaaaaaaaa" +
	"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa" +
	"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa" +
	"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"

// clusterCodes returns the codes of clusters that are part of the format, by segment and by
// number, which are immutable. They are made when the first encoder or decoder is: 100 KiB that a
// process without clusters does not need.
var clusterCodes = sync.OnceValue(func() *[segments][]*code {
	all := new([segments][]*code)
	for segment, list := range clusterLengths {
		for _, lengths := range list {
			all[segment] = append(all[segment], newCode(lengths))
		}
	}
	return all
})

// lengthsCode is the code of the symbols that give an own code's lengths. It is immutable once
// made.
var lengthsCode = newCode(lengthsLengths)
