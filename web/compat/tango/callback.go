package tango

import (
	"bytes"
	"context"
	"mime/multipart"
	"net/http"
	"path"

	"drover/core"
)

// Name is this compatible API in requests with a callback.
const Name = "tango"

// Callback makes the message to the callback_url of a job: as in Tango, a POST of a form with the output as its file,
// whose name is also in the header Filename.
func Callback(blobs core.Blobs) core.Callback {
	return func(ctx context.Context, row core.Row) (core.Message, error) {
		output, j, err := reader{blobs}.output(ctx, &row)
		if err != nil {
			return core.Message{}, err
		}
		name := path.Base(j.Output)
		var body bytes.Buffer
		form := multipart.NewWriter(&body)
		part, err := form.CreateFormFile("file", name)
		if err == nil {
			_, err = part.Write(output)
		}
		if err == nil {
			err = form.Close()
		}
		return core.Message{
			Method: http.MethodPost, URL: j.Call, Header: map[string]string{"Content-Type": form.FormDataContentType(), "Filename": name},
			Body: body.Bytes(), Secret: j.SignedBy,
		}, core.Wrap(err, core.CodeInternal, row.Spec.ID, "job %s cannot be told", row.Spec.ID)
	}
}
