package report

import (
	"bytes"
	_ "embed"
	"encoding/json"
)

// The parts of the page: one file, which needs nothing from anywhere.
var (
	//go:embed page/page.html
	pageHTML []byte
	//go:embed page/page.css
	pageCSS []byte
	//go:embed page/page.js
	pageJS []byte
)

// page is the HTML of the report. The data lies in it as JSON, in which json.Marshal leaves no < that could end the
// element.
func (r *Report) page() ([]byte, error) {
	data, err := json.Marshal(r)
	if err != nil {
		return nil, err
	}
	page := bytes.Replace(pageHTML, []byte("/*style*/"), pageCSS, 1)
	page = bytes.Replace(page, []byte("/*program*/"), pageJS, 1)
	return bytes.Replace(page, []byte("/*data*/"), data, 1), nil
}
