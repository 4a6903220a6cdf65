// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"fmt"
	"html"
	"os"
	"strings"
	"testing"
)

// pictureVariable names a file for a picture of top's screen, as docs/top.svg is one.
const pictureVariable = "ZRAMFS_PICTURE"

// The size of a character in a picture, and its colours by parameters of SGR.
const (
	glyphWidth, glyphHeight = 8.4, 17
	paper, ink              = "#16181d", "#d7dae0"
)

var sgrColours = map[string]string{"31": "#ff6b6b", "32": "#7bd88f", "33": "#ffd166", "36": "#5fb3d9"}

// drawPicture writes the screen as SVG where pictureVariable says so, with the usual DIR in place
// of dir.
func drawPicture(t *testing.T, s *terminal, dir string) {
	t.Helper()
	path := os.Getenv(pictureVariable)
	if path == "" {
		return
	}
	s.lock.Lock()
	defer s.lock.Unlock()
	rename(s.cells[0], dir, "/run/zram")
	var out strings.Builder
	width, height := float64(s.width)*glyphWidth+16, s.height*glyphHeight+16
	fmt.Fprintf(&out, "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %.0f %d\" role=\"img\" aria-label=\"The screen of zramfs top\">\n", width, height)
	fmt.Fprintf(&out, "<rect width=\"100%%\" height=\"100%%\" rx=\"6\" fill=\"%s\"/>\n", paper)
	fmt.Fprintf(&out, "<g font-family=\"DejaVu Sans Mono, Menlo, Consolas, monospace\" font-size=\"14\" style=\"white-space:pre\">\n")
	for y, row := range s.cells {
		for x := 0; x < len(row); {
			end := x + 1
			for end < len(row) && row[end].style == row[x].style && isBlock(row[end].r) == isBlock(row[x].r) {
				end++
			}
			pictureRun(&out, x, y, row[x:end])
			x = end
		}
	}
	out.WriteString("</g>\n</svg>\n")
	if err := os.WriteFile(path, []byte(out.String()), 0o600); err != nil {
		t.Error(err)
	}
}

// rename replaces a word of the first row; what is behind it moves, but for the clock at the end.
func rename(row []glyph, word, by string) {
	line := make([]rune, len(row))
	for x, g := range row {
		line[x] = g.r
	}
	const clock = 8
	x, cut := strings.Index(string(line), word), len(word)-len(by)
	if x < 0 || cut < 0 {
		return
	}
	end := len(row) - clock
	copy(row[x+len(by):end], row[x+len(word):end])
	for i, r := range by {
		row[x+i].r = r
	}
	for i := end - cut; i < end; i++ {
		row[i] = glyph{r: ' '}
	}
}

// isBlock recognises the characters of bars and graphs.
func isBlock(r rune) bool { return r >= '▁' && r <= '█' || r == '░' }

// pictureRun draws characters of one style.
func pictureRun(out *strings.Builder, x, y int, run []glyph) {
	fill, more := ink, ""
	for part := range strings.SplitSeq(run[0].style, ";") {
		switch {
		case part == "1":
			more += ` font-weight="bold"`
		case part == "2":
			more += ` opacity="0.6"`
		case sgrColours[part] != "":
			fill = sgrColours[part]
		}
	}
	left, top := 8+float64(x)*glyphWidth, 8+y*glyphHeight
	if isBlock(run[0].r) {
		for i, g := range run {
			eighths := float64(g.r-'▁') + 1
			if g.r == '░' {
				eighths, more = 8, ` opacity="0.15"`
			}
			tall := eighths / 8 * (glyphHeight - 2)
			fmt.Fprintf(out, "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" fill=\"%s\"%s/>\n",
				left+float64(i)*glyphWidth, float64(top+glyphHeight-1)-tall, glyphWidth-0.6, tall, fill, more)
		}
		return
	}
	for len(run) > 0 && run[0].r == ' ' {
		run, left = run[1:], left+glyphWidth
	}
	for len(run) > 0 && run[len(run)-1].r == ' ' {
		run = run[:len(run)-1]
	}
	if len(run) == 0 {
		return
	}
	var text strings.Builder
	for _, g := range run {
		text.WriteRune(g.r)
	}
	fmt.Fprintf(out, "<text x=\"%.1f\" y=\"%d\" fill=\"%s\" textLength=\"%.1f\"%s>%s</text>\n",
		left, top+13, fill, float64(len(run))*glyphWidth, more, html.EscapeString(text.String()))
}
