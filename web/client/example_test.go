package client_test

import (
	"context"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"

	"drover/core/classes"
	"drover/core/requests/intake"
	"drover/web/client"
)

// A program submits a file and says what came of it.
func Example() {
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"id":"01jd8x3k4","class":"cs101","assignment":"hw1","user":"ann"}`)
	}))
	defer site.Close()

	c, err := client.New(client.Options{Server: site.URL, Token: "dro_…"})
	if err != nil {
		log.Fatal(err)
	}
	sub, err := c.Submit(context.Background(), classes.NewSubmission{
		Class: "cs101", Assignment: "hw1",
		Files: func(yield func(intake.Upload, error) bool) {
			yield(intake.Upload{Path: "main.py", Content: strings.NewReader("print(1)\n")}, nil)
		},
	})
	if err != nil {
		log.Fatal(err) // the site's own sentence, see core.CodeOf
	}
	fmt.Println(sub.ID, "of", sub.User)
	// Output: 01jd8x3k4 of ann
}
