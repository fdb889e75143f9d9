package page

import "cmp"

// ClassTitle returns what people call a class.
func (r *Request) ClassTitle(handle string) string {
	return r.title("class "+handle, handle, func(all Titles) string {
		return all.ClassTitle(r.Context(), r.Actor(), handle)
	})
}

// AssignmentTitle returns what people call an assignment.
func (r *Request) AssignmentTitle(class, handle string) string {
	return r.title("assignment "+class+"/"+handle, handle, func(all Titles) string {
		return all.AssignmentTitle(r.Context(), r.Actor(), class, handle)
	})
}

// PersonName returns the name of a member of a class.
func (r *Request) PersonName(class, user string) string {
	return r.title("person "+class+"/"+user, user, func(all Titles) string {
		return all.PersonName(r.Context(), r.Actor(), class, user)
	})
}

// NameIn returns the name of a member of a class, for lists: those of all members are read at once.
func (r *Request) NameIn(class, user string) string {
	if r.site.cfg.Titles == nil || r.Caller == nil {
		return user
	}
	if r.names == nil {
		r.names = make(map[string]map[string]string)
	}
	if r.names[class] == nil {
		r.names[class] = r.site.cfg.Titles.Names(r.Context(), r.Actor(), class)
	}
	return cmp.Or(r.names[class][user], user)
}

// title reads a title once for each request.
func (r *Request) title(key, handle string, read func(Titles) string) string {
	if r.site.cfg.Titles == nil || r.Caller == nil || handle == "" {
		return handle
	}
	if r.titles == nil {
		r.titles = make(map[string]string)
	}
	if _, ok := r.titles[key]; !ok {
		r.titles[key] = read(r.site.cfg.Titles)
	}
	return r.titles[key]
}
