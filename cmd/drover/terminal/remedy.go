package terminal

import (
	"strings"

	"drover/core"
)

// remedies are the commands that help after an error of core, by how the error's sentence begins: core is also asked
// by pages and by the API, and names no command.
var remedies = []struct {
	begin, remedy string
}{
	{"there is no user ", "see drover user list"},
	{"there is no class ", "see drover class list"},
	{"there is no assignment ", "see drover assignment list"},
	{"there is no submission ", "see drover assignment submissions"},
	{"there is no request ", "see drover request list"},
	{"there is no task ", "see drover task list"},
	{"there is no schedule ", "see drover schedule list"},
	{"there is no webhook ", "see drover webhook list"},
	{"there is no lease ", "see drover lease list"},
	{"there is no image ", "see drover image list, drover image build and drover image import"},
	{"there is no host ", "see drover host list"},
	{"there is no pool ", "see drover pool list, and make it with drover pool set"},
	{"there is no admin", "use drover user set --role admin USER"},
	{"the output and files of request ", "drover pool show says how long"},
}

// Remedied returns the text of an error with the command that helps, if one does.
func Remedied(err error) string {
	text := err.Error()
	if code := core.CodeOf(err); code != core.CodeNotFound && code != core.CodeConflict {
		return text
	}
	for _, r := range remedies {
		if strings.Contains(text, r.begin) && !strings.Contains(text, "drover ") {
			return text + ": " + r.remedy
		}
	}
	return text
}
