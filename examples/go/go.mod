module weather

go 1.21
