sort -nu
