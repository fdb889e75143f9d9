package examples

import (
	_ "embed"
	"strings"
)

// SiteURL stands for the address of the reader's site.
const SiteURL = "https://drover.example.org"

// cloudToken stands for the reader's token.
const cloudToken = "drj_TOKEN"

//go:embed cloud-init.yaml
var cloudInit string

// CloudInit returns the user data by which a machine of a cloud joins the cluster of a site.
func CloudInit(token, site string) string {
	return strings.NewReplacer(cloudToken, token, SiteURL, site).Replace(cloudInit)
}
