package judge0

import (
	"context"
	"encoding/json"
	"net/http"

	"drover/core"
	"drover/web/compat"
)

// Name is this compatible API in requests with a callback.
const Name = "judge0"

// checkCallback checks the address that is to be notified of the end.
func (d *API) checkCallback(s *submission, c *call, wrong problems) {
	if s.Callback == "" {
		return
	}
	if err := d.own.Callbacks.CheckURL(s.Callback); err != nil {
		wrong.add("callback_url", "%s", err.Error())
	}
	s.SignedBy = compat.CallbackSecret(c.key)
}

// Callback makes the message to the callback_url of a submission: as in Judge0, a PUT of its default fields, in
// Base64.
func Callback(blobs core.Blobs) core.Callback {
	return func(ctx context.Context, row core.Row) (core.Message, error) {
		v, err := reader{blobs}.view(ctx, &row, true)
		if err != nil {
			return core.Message{}, err
		}
		shown, err := v.fields(defaultFields(), true)
		if err != nil {
			return core.Message{}, err
		}
		body, err := json.Marshal(shown)
		return core.Message{
			Method: http.MethodPut, URL: v.sub.Callback, Header: map[string]string{"Content-Type": "application/json"}, Body: body, Secret: v.sub.SignedBy,
		}, core.Wrap(err, core.CodeInternal, row.Spec.ID, "submission %s cannot be told", row.Spec.ID)
	}
}
