// Package page is what all pages of the site are made with: routes, templates,
// languages, error pages, and the files that go with them. The pages themselves are
// in the packages beside it, one for each kind of reader.
//
// Pages are rendered on the server and work without JavaScript; the one script adds
// what is live. What a user wrote reaches a page through html/template or Markdown,
// and files of users never reach one: they are downloads.
//
// A form is sent by POST, changes something through the classes service and redirects.
// Requests from other sites are refused by net/http's CrossOriginProtection, so forms
// carry no token.
package page
