document.title = 'Sortition';
