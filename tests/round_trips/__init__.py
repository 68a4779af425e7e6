"""What is stored stays as it is: in the admin's pages, through files, and through the APIs."""
