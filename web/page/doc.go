// Package page is the engine of the site's pages: routes, templates, languages, error pages, and static files. The
// pages themselves are in the packages beside it, one for each kind of reader.
//
// Pages are rendered on the server and work without JavaScript; the one script adds live updates. Texts of users
// reach a page only through html/template or Markdown, and files of users never do: they are downloads.
//
// A form is sent by POST, changes something through a service and redirects. Requests from other sites are refused by
// net/http's CrossOriginProtection, so forms carry no token.
package page
