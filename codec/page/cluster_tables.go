// SPDX-License-Identifier: Apache-2.0

package page

// clusterLengths holds the lengths of the codes of clusters as codeLengths does those of single
// pages. They were trained on clusters of five programs (python, gcc, java, awk and git), are part
// of the format and never change.
var clusterLengths = [segments][]string{
	{ // tokens
		"a7aa88a8aa8aa5aa83aaa6aaa8aaaaa7aaa7aaa5a3aa85a8688a6a8aaa6a8aaa" +
			"6aaaaaaaaaaa7aaaaaaaa7aa68aaa6aa7aa87a8a5a8aaaaaa7aa7aaaaaaaa8aa" +
			"a7aa8aaa8aaaa7aaaaa8a8aaaaa8aaaaaaa8aaa9aaaaa8aaa6a8aa78aaaaaaaa" +
			"a7aa5a8a8aaaaaaaa6aa7aaaaaaaaa8aa87aaaaaaa8aaaaaaaa7aaaaaa8aaaa6",
		"a7aa5aaaaaaaaaaaa4aaa7aaaaaaa7aaaaa5aaaaa3aaa5aaaaaa5aaaaa5aaaaa" +
			"4aaaaaaaaaaa77aaaaaaa7aa7aaaaaa7aaaa6aaa6a7a9aaaa7aa6aaaaaaaa7aa" +
			"a6aaaaaaaaaaa7a7aaaaa7aaaaaaaaaaaaaaaaaaaaaaaaaaa97aaaa6aaaaaaaa" +
			"aaaa7aaa7aaaaaaaaaaa7aaaaaaaaaaaa6aaaaaaaa6aaaaaaaaaaaaaaaaaaaa3",
		"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa" +
			"aaaaaaaaaaaaaaaaaaaaaaaaaaaa4aaaaaa32aaaaaaaaaaaaaaaaaaaaaaaaaaa" +
			"aaaaaaaaaaaaaaaaaaaaaaaaaaaaa9aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa" +
			"aaaaaaaaaaaaaaaaaaaaaaaaa8aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa94aaaa2",
		"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa" +
			"aaaaaaaaaaaaaaaaaaaaaaaaaaaa4aaaaaa32aaaaaaaaaaaaaaaaaaaaaaaaaaa" +
			"aaaaaaaaaaaaaaaaaaaaaaaaaaaaa9aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa" +
			"aaaaaaaaaaaaaaaaaaaaaaaaa8aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa94aaaa2",
	},
	{ // literals
		"4455666767868788688998898999999969999a9a7aa999997999999989999aa9" +
			"499a9a9a89aaa9aa7aaaaaaa8aaaaaa969a9a9aa89aaaaa97a9a9aaa8aaaaaa9" +
			"5aaaaaaa6aaaaaaa7aaaaaaa8a9aa9aa6aaaaaaa8aaaaaaa7aaaaaaa7aaaaaa9" +
			"5aaaaaaa8aaaaaaa6999aaaa8aaaaaa96aaaaaaa8aaa99997999999978887765",
		rawLengths,
		"43555666688889885998898999aaaaaa599aaaaaaa9878897899999999aaaaa9" +
			"6aa999aaaaaaaa9a7aaaaaaaaaaaaaa9789aa9aaaaaaaaa97a9a99aaaaaaaaaa" +
			"7aaaa9aaaaaaaaaa6aaaaaaaaaaaaaaa7aaaaaaaaaaaaaaa5aaaaaaaaaaaaa9a" +
			"7aa9aaaaaaaaaaaa79aaaaaaaaaaaaaa5aaaaaaaaa9999995aa9a99888777665",
		"55446577687888a85989899979a99a8979999a9a6aa9aa9a5aaaaaaa8aa89999" +
			"69aaaaaa8aaaaaaa7aaaaaaa7aaaaa996aa9aaaa8aaaaaa97aaaaaaa8aaaaa99" +
			"7aaaaaa94aaaaaaa7aaaaaaa7aaaa8a97aaaaaa97aaaaaa98aaaaaa96aaaaa99" +
			"7a9aa9a97aaaaaaa7aaaaaaa8aa9a9997aaaaaaa7aaaaaaa8a99999867876665",
		"44566658787489988899a869aaaa9aaa688aaaaaaaaa9aaa7899899989aaaaaa" +
			"4aaaaaaaaaaaa7aa9aaaaaaaaaaaaaaa7aaaaaaaaaaaa9aa8aaaaaaaaaaaaaaa" +
			"3aaaaaaaaaaaaaaaaaaaaaaaaa8aaaaa7aaaaaaaaaaaaaaa8aaaaaaaaaaaaaaa" +
			"4aaaaaaaaaaaaaaa9aaaaaaaaaaaaaaa7aaaaaaaaaaaaaa98aa9aa9988887765",
		"43566aa656aaaaaa5aaaa7aa6aaaaaaa5aaaaaaa5aaaaaaa7aaaaaaa7aaaaaaa" +
			"5aaaaaaa7aaaaaaa7aaaaaaa7aaaaaaa4aaaaaaa7aaaaaaa6aaaaaaa7aaaaaaa" +
			"6aaaaaaaaaaaaaaa7aaaaaaaaaaaaaaa6aaaaaaaaaaaaaaa6aaaaaaaaaaaaaaa" +
			"5aaaaaaaaaaaaaaa4aaaaaaaaaaaaaaa6aaaaaaa7aaaaaaaaaaaaaaaaaaaaaa6",
	},
	{ // near bytes
		"5aa578a5aa558aa5aaa7aaa6aaa7aaa48777aaa6aaa7aaa5aaa8aaa7aaaaaaa5" +
			"65767776767777a68a77a8a6aa87aaa7a8a8aaa6aa88aa97aaa8aaa77aaa7aa7" +
			"aaaaaaa76aaaaa88aaaaaaa7aaaaaaa8aaaaaaa8aaaaaaa8aaaaaaa88aaaaaaa" +
			"aaaaaaa8aaaaaaaaaaaaaaa8a8aaaaaaaaaaaaa7aaaaaaa8aaaaaaa8aaaaaaaa",
		"8aa457a5aa336aaaaaaaaaaaaaaaaaa4644aaaaaaaaaaaa4aaaaaaaaaaaaaaaa" +
			"aaaaaaaaa5aaa4aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa" +
			"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa8aaaaaaaaaa" +
			"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
		"5aaaaaa4aaaaaaa4aaaaaaaaaaaaaaa5aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa4" +
			"a6a6a6a4aaaaaaa5aaaaaaa4aaaaaaa6aaaaaaa5aaa9aaa6aaaaaaa5aaaaaaa6" +
			"aaaaaaa6aaaaaaa6aaaaaaa5aaaaaaa6aaaaaaa6aaaaaaa7aaaaaaa6aaaaaaaa" +
			"aaaaaaa6aaaaaaa8aaaaaaa6aaaaaaaaaaaaaaa5aaaaaaa6aaaaaaa6aaaaaaaa",
		"4aa4aaa5aaa5aaa5aaa6aaa5aaa5aaa3aaa6aaa6aaa5aaa4aaaaaaaaaaaaaaa5" +
			"a8a5aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa5aaa5aaa" +
			"aaaaaaaa4aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa" +
			"aaaaaaaaaaaaaaaaaaaaaaaaa5aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
	},
	{ // the low bytes of far words
		"368aaaaa7aaaaaaa6aaaaaaa7aaaaaaa6aaaaaaa7aaaaaaa6aaaaaaa7aaaaaaa" +
			"4777aaaa7a777aaa6aaaaaaa7aaaaaaa58668aaa7aaaaaaa6aaaaaaa7aaaaaa7" +
			"477aaaaa7aaaaaaa6aaaaaaa6aaaaaaa6aaaaaaa7aaaaaa868aaaaaa7aaaaaa8" +
			"48aaaaaa7aaaaaaa6aaaaaaa7aaaaaaa6aaaaaaa7aaaaaaa6aaaaaaa7aaaaaa7",
		rawLengths,
	},
	{ // the high bytes of far words
		"3566a85455445566566666666aa66aaa6aaaaaaaaaaa7aaaaaaaaaaaaaaaaaaa" +
			"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa" +
			"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa" +
			"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
		rawLengths,
		"169aaaa6aa76aaa9aa656666aaaaaaaaaaaaaaaaaaaa567677a6aaaaaaaaaaaa" +
			"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa" +
			"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa" +
			"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
	},
}

// lengthsLengths holds the lengths of the code of symbols that give an own code's lengths.
const lengthsLengths = "3aaaa743343aaaaa4aaaaaaaaa4aaaaa9aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa" +
	"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa" +
	"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa" +
	"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"

// clusterCodes are the codes of clusters that are part of the format, by segment and by number. It
// is immutable once made.
var clusterCodes = func() (all [segments][]*code) {
	for segment, list := range clusterLengths {
		for _, lengths := range list {
			all[segment] = append(all[segment], newCode(lengths))
		}
	}
	return all
}()

// lengthsCode is the code of the symbols that give an own code's lengths. It is immutable once
// made.
var lengthsCode = newCode(lengthsLengths)
