module atlas/client

go 1.26.0
